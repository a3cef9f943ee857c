create table accounts (
  id text not null,
  name text not null,
  tier text not null,
  created_at bigint not null,
  turn bigint not null default 0,
  suspended_at bigint,
  delivery_turn bigint not null default 0,
  constraint accounts_tier_fkey FOREIGN KEY (tier) REFERENCES tiers(name),
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_name_key UNIQUE (name)
);
CREATE INDEX accounts_turn ON accounts USING btree (turn);
create table api_keys (
  id text not null,
  account_id text not null,
  project_id text,
  name text not null,
  prefix text not null,
  hash text not null,
  requests_per_minute integer,
  concurrency integer,
  profiles text not null,
  default_profile text not null,
  created_at bigint not null,
  revoked_at bigint,
  last_used_at bigint,
  turn bigint not null default 0,
  expires_at bigint,
  replaces text,
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint api_keys_replaces_fkey FOREIGN KEY (replaces) REFERENCES api_keys(id),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_hash_key UNIQUE (hash)
);
CREATE INDEX api_keys_account ON api_keys USING btree (account_id, created_at, id);
CREATE INDEX api_keys_newest ON api_keys USING btree (created_at, id);
CREATE INDEX api_keys_project ON api_keys USING btree (project_id, created_at, id) WHERE (revoked_at IS NULL);
CREATE INDEX api_keys_turn ON api_keys USING btree (turn);
CREATE INDEX api_keys_unrevoked ON api_keys USING btree (account_id, created_at, id) WHERE (revoked_at IS NULL);
create table attempts (
  delivery_seq bigint not null,
  number integer not null,
  at bigint not null,
  latency_ms integer not null,
  status integer,
  error text,
  answer bytea,
  sent_headers text,
  answer_headers text,
  constraint attempts_delivery_seq_fkey FOREIGN KEY (delivery_seq) REFERENCES deliveries(seq) ON DELETE CASCADE,
  constraint attempts_pk PRIMARY KEY (delivery_seq, number)
);
create table audit (
  seq bigint not null generated always as identity,
  at bigint not null,
  actor text not null,
  action text not null,
  subject text not null,
  account_id text,
  detail text not null,
  address text,
  constraint audit_pkey PRIMARY KEY (seq)
);
CREATE INDEX audit_account ON audit USING btree (account_id, seq);
CREATE INDEX audit_action ON audit USING btree (action, seq);
CREATE INDEX audit_actor ON audit USING btree (actor, seq);
CREATE INDEX audit_door ON audit USING btree (at) WHERE (action = ANY (ARRAY['person.sign-in'::text, 'person.sign-out'::text, 'person.refuse'::text]));
CREATE INDEX audit_subject ON audit USING btree (subject, seq);
create table contents (
  seq bigint not null generated always as identity,
  account_id text not null,
  hash text not null,
  bytes bytea not null,
  constraint contents_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint contents_pkey PRIMARY KEY (seq),
  constraint contents_hash UNIQUE (account_id, hash)
);
create table deliveries (
  seq bigint not null generated always as identity,
  id text not null,
  endpoint_id text not null,
  submission_seq bigint,
  message_id text not null,
  kind text not null,
  body bytea,
  state text not null,
  attempts integer not null default 0,
  next_at bigint,
  fence integer not null default 0,
  lease_until bigint,
  created_at bigint not null,
  ended_at bigint,
  reason text,
  judgement_seq bigint,
  callback integer,
  constraint deliveries_kind_check CHECK ((kind = ANY (ARRAY['result'::text, 'replay'::text, 'test'::text]))),
  constraint deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))),
  constraint deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoints(id),
  constraint deliveries_judgement_seq_fkey FOREIGN KEY (judgement_seq) REFERENCES judgements(seq) ON DELETE CASCADE,
  constraint deliveries_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint deliveries_pkey PRIMARY KEY (seq),
  constraint deliveries_id_key UNIQUE (id)
);
CREATE INDEX deliveries_due ON deliveries USING btree (next_at) WHERE (state = 'pending'::text);
CREATE INDEX deliveries_endpoint ON deliveries USING btree (endpoint_id, seq);
CREATE INDEX deliveries_failed ON deliveries USING btree (endpoint_id, seq) WHERE (state = 'failed'::text);
CREATE INDEX deliveries_judgement ON deliveries USING btree (judgement_seq) WHERE (judgement_seq IS NOT NULL);
CREATE INDEX deliveries_leased ON deliveries USING btree (endpoint_id, lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX deliveries_pending_replays ON deliveries USING btree (endpoint_id) WHERE ((state = 'pending'::text) AND (kind = 'replay'::text));
CREATE INDEX deliveries_submission ON deliveries USING btree (submission_seq);
CREATE INDEX deliveries_tests ON deliveries USING btree (ended_at) WHERE (submission_seq IS NULL);
CREATE INDEX deliveries_waiting ON deliveries USING btree (endpoint_id, next_at, seq) WHERE (state = 'pending'::text);
create table egress_days (
  owner_id text not null,
  day text not null,
  bytes_up bigint not null,
  bytes_down bigint not null,
  constraint egress_days_pk PRIMARY KEY (owner_id, day)
);
CREATE INDEX egress_days_day ON egress_days USING btree (day);
create table egress_hosts (
  account_id text not null,
  day text not null,
  project_id text not null,
  name text not null,
  decision text not null,
  connections bigint not null,
  bytes_up bigint not null,
  bytes_down bigint not null,
  constraint egress_hosts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint egress_hosts_pk PRIMARY KEY (account_id, day, project_id, name, decision)
);
CREATE INDEX egress_hosts_day ON egress_hosts USING btree (day);
create table endpoints (
  id text not null,
  project_id text not null,
  url text not null,
  secret bytea not null,
  signing text not null,
  active integer not null,
  created_at bigint not null,
  removed_at bigint,
  failing_since bigint,
  constraint endpoints_signing_check CHECK ((signing = ANY (ARRAY['standard'::text, 'raw'::text]))),
  constraint endpoints_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint endpoints_pkey PRIMARY KEY (id)
);
CREATE INDEX endpoints_failing ON endpoints USING btree (failing_since, id) WHERE (failing_since IS NOT NULL);
CREATE INDEX endpoints_newest ON endpoints USING btree (created_at, id) WHERE (removed_at IS NULL);
CREATE INDEX endpoints_project ON endpoints USING btree (project_id);
CREATE INDEX endpoints_unremoved ON endpoints USING btree (project_id) WHERE (removed_at IS NULL);
create table executions (
  sandbox_seq bigint not null,
  number integer not null,
  key_id text not null,
  kind text not null,
  request text not null,
  status text not null,
  verdict text,
  cause text,
  started_at bigint not null,
  completed_at bigint,
  processes_left integer,
  body text,
  stdout bytea,
  stderr bytea,
  egress text,
  constraint executions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint executions_sandbox_seq_fkey FOREIGN KEY (sandbox_seq) REFERENCES sandboxes(seq) ON DELETE CASCADE,
  constraint executions_pk PRIMARY KEY (sandbox_seq, number)
);
CREATE INDEX executions_running ON executions USING btree (sandbox_seq) WHERE (completed_at IS NULL);
create table former_secrets (
  id text not null,
  endpoint_id text not null,
  secret bytea not null,
  ends_at bigint not null,
  constraint former_secrets_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoints(id),
  constraint former_secrets_pkey PRIMARY KEY (id)
);
CREATE INDEX former_secrets_endpoint ON former_secrets USING btree (endpoint_id, ends_at);
create table history (
  at bigint not null,
  account_id text not null,
  language text not null,
  verdict text not null,
  amount bigint not null,
  constraint history_pk PRIMARY KEY (at, account_id, language, verdict)
);
CREATE INDEX history_account ON history USING btree (account_id, at);
create table history_deliveries (
  at bigint not null,
  account_id text not null,
  endpoint_id text not null,
  state text not null,
  amount bigint not null,
  constraint history_deliveries_pk PRIMARY KEY (at, account_id, endpoint_id, state)
);
CREATE INDEX history_deliveries_account ON history_deliveries USING btree (account_id, at);
create table history_keys (
  at bigint not null,
  account_id text not null,
  key_id text not null,
  verdict text not null,
  amount bigint not null,
  constraint history_keys_pk PRIMARY KEY (at, account_id, key_id, verdict)
);
CREATE INDEX history_keys_account ON history_keys USING btree (account_id, at);
create table history_load (
  at bigint not null,
  account_id text not null,
  pending bigint not null,
  running bigint not null,
  slots bigint not null,
  constraint history_load_pk PRIMARY KEY (at, account_id)
);
CREATE INDEX history_load_account ON history_load USING btree (account_id, at);
create table history_times (
  at bigint not null,
  account_id text not null,
  kind text not null,
  bin integer not null,
  amount bigint not null,
  constraint history_times_kind_check CHECK ((kind = ANY (ARRAY['wait'::text, 'run'::text]))),
  constraint history_times_pk PRIMARY KEY (at, account_id, kind, bin)
);
CREATE INDEX history_times_account ON history_times USING btree (account_id, at);
create table invitations (
  id text not null,
  hash text not null,
  kind text not null,
  email text,
  person_id text,
  account_id text,
  administrator integer not null,
  created_at bigint not null,
  expires_at bigint not null,
  constraint invitations_kind_check CHECK ((kind = ANY (ARRAY['first'::text, 'invite'::text, 'reset'::text]))),
  constraint invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint invitations_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id) ON DELETE CASCADE,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_hash_key UNIQUE (hash)
);
create table judge0_submissions (
  submission_seq bigint not null,
  account_id text not null,
  language_id integer not null,
  expected_output bytea,
  additional_files bytea,
  settings text not null,
  callback_url text,
  endpoint_id text,
  status integer,
  compile_output bytea,
  api text not null default 'judge0'::text,
  constraint judge0_submissions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint judge0_submissions_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoints(id),
  constraint judge0_submissions_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint judge0_submissions_pkey PRIMARY KEY (submission_seq)
);
CREATE INDEX judge0_submissions_account ON judge0_submissions USING btree (account_id, submission_seq);
create table judged_programs (
  judgement_seq bigint not null,
  code bytea not null,
  additions bytea,
  constraint judged_programs_judgement_seq_fkey FOREIGN KEY (judgement_seq) REFERENCES judgements(seq) ON DELETE CASCADE,
  constraint judged_programs_pkey PRIMARY KEY (judgement_seq)
);
create table judgements (
  seq bigint not null generated always as identity,
  id text not null,
  account_id text not null,
  key_id text not null,
  project_id text,
  version_seq bigint not null,
  language text not null,
  profile text not null,
  stop text not null,
  status text not null,
  states text not null,
  verdict text,
  score double precision,
  created_at bigint not null,
  completed_at bigint,
  problem_id text,
  problem_version integer,
  grading text,
  constraint judgements_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'completed'::text, 'error'::text]))),
  constraint judgements_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint judgements_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint judgements_version_seq_fkey FOREIGN KEY (version_seq) REFERENCES versions(seq),
  constraint judgements_pkey PRIMARY KEY (seq),
  constraint judgements_id_key UNIQUE (id)
);
CREATE INDEX judgements_account ON judgements USING btree (account_id, seq);
CREATE INDEX judgements_completed ON judgements USING btree (completed_at);
CREATE INDEX judgements_open ON judgements USING btree (key_id, seq) WHERE (completed_at IS NULL);
CREATE INDEX judgements_problem ON judgements USING btree (account_id, problem_id, seq) WHERE (problem_id IS NOT NULL);
CREATE INDEX judgements_version ON judgements USING btree (version_seq);
create table known_places (
  person_id text not null,
  place text not null,
  at bigint not null,
  constraint known_places_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id) ON DELETE CASCADE,
  constraint known_places_pk PRIMARY KEY (person_id, place)
);
create table links (
  id text not null,
  fingerprint text not null,
  address text,
  is_service integer not null,
  sandboxes integer not null,
  memory_bytes bigint not null,
  cpus integer not null,
  snapshot_store text,
  announced_at bigint not null,
  lease_until bigint not null,
  disk_bytes bigint not null default 0,
  network integer not null default 0,
  constraint links_pkey PRIMARY KEY (id)
);
create table live_input (
  submission_seq bigint not null,
  n integer not null,
  total bigint not null,
  bytes bytea,
  signal integer,
  constraint live_input_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint live_input_pk PRIMARY KEY (submission_seq, n)
);
create table live_output (
  submission_seq bigint not null,
  fence integer not null,
  n integer not null,
  stream text not null,
  at bigint not null,
  bytes bytea not null,
  constraint live_output_stream_check CHECK ((stream = ANY (ARRAY['stdout'::text, 'stderr'::text]))),
  constraint live_output_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint live_output_pk PRIMARY KEY (submission_seq, fence, n)
);
create table members (
  person_id text not null,
  account_id text not null,
  constraint members_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint members_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id) ON DELETE CASCADE,
  constraint members_pk PRIMARY KEY (person_id, account_id)
);
CREATE INDEX members_account ON members USING btree (account_id);
create table network_bounds (
  owner_id text not null,
  account_id text not null,
  project_id text,
  version integer not null,
  policy text not null,
  up_per_day bigint,
  down_per_day bigint,
  changed_at bigint not null,
  constraint network_bounds_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint network_bounds_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint network_bounds_pkey PRIMARY KEY (owner_id)
);
CREATE INDEX network_bounds_account ON network_bounds USING btree (account_id);
create table outcomes (
  submission_seq bigint not null,
  stdout bytea,
  stderr bytea,
  body text not null,
  compile_output bytea,
  constraint outcomes_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint outcomes_pkey PRIMARY KEY (submission_seq)
);
create table people (
  id text not null,
  email text not null,
  name text not null,
  administrator integer not null,
  password text,
  provider_subject text,
  created_at bigint not null,
  seen_at bigint,
  disabled_at bigint,
  constraint people_pkey PRIMARY KEY (id),
  constraint people_email_key UNIQUE (email),
  constraint people_provider_subject_key UNIQUE (provider_subject)
);
create table problem_versions (
  problem_seq bigint not null,
  number integer not null,
  version_seq bigint not null,
  tests integer not null,
  bytes bigint not null,
  cpu_secs double precision,
  memory_bytes bigint,
  created_at bigint not null,
  faults text,
  constraint problem_versions_problem_seq_fkey FOREIGN KEY (problem_seq) REFERENCES problems(seq) ON DELETE CASCADE,
  constraint problem_versions_version_seq_fkey FOREIGN KEY (version_seq) REFERENCES versions(seq),
  constraint problem_versions_pk PRIMARY KEY (problem_seq, number)
);
CREATE INDEX problem_versions_of ON problem_versions USING btree (version_seq);
create table problems (
  seq bigint not null generated always as identity,
  id text not null,
  account_id text not null,
  name text not null,
  title text not null,
  version integer not null,
  created_at bigint not null,
  updated_at bigint not null,
  constraint problems_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint problems_pkey PRIMARY KEY (seq),
  constraint problems_id_key UNIQUE (id),
  constraint problems_name UNIQUE (account_id, name)
);
CREATE INDEX problems_account ON problems USING btree (account_id, seq);
create table programs (
  submission_seq bigint not null,
  code bytea not null,
  stdin bytea not null,
  additions bytea,
  constraint programs_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint programs_pkey PRIMARY KEY (submission_seq)
);
create table projects (
  id text not null,
  account_id text not null,
  name text not null,
  created_at bigint not null,
  archived_at bigint,
  constraint projects_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_name UNIQUE (account_id, name)
);
CREATE INDEX projects_newest ON projects USING btree (created_at, id);
create table quota (
  key_id text not null,
  n bigint not null,
  at bigint not null,
  constraint quota_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  constraint quota_pk PRIMARY KEY (key_id, n)
);
create table runs (
  judgement_seq bigint not null,
  test integer not null,
  submission_seq bigint not null,
  verdict text not null,
  share double precision not null,
  message text,
  cpu_usec bigint,
  wall_ns bigint,
  memory_bytes bigint,
  constraint runs_judgement_seq_fkey FOREIGN KEY (judgement_seq) REFERENCES judgements(seq) ON DELETE CASCADE,
  constraint runs_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint runs_pk PRIMARY KEY (judgement_seq, test)
);
CREATE INDEX runs_submission ON runs USING btree (submission_seq);
create table samples (
  submission_seq bigint not null,
  body text not null,
  constraint samples_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint samples_pkey PRIMARY KEY (submission_seq)
);
create table sandbox_egress (
  sandbox_seq bigint not null,
  body text not null,
  constraint sandbox_egress_sandbox_seq_fkey FOREIGN KEY (sandbox_seq) REFERENCES sandboxes(seq) ON DELETE CASCADE,
  constraint sandbox_egress_pkey PRIMARY KEY (sandbox_seq)
);
create table sandbox_usage (
  sandbox_seq bigint not null,
  samples text not null,
  constraint sandbox_usage_sandbox_seq_fkey FOREIGN KEY (sandbox_seq) REFERENCES sandboxes(seq) ON DELETE CASCADE,
  constraint sandbox_usage_pkey PRIMARY KEY (sandbox_seq)
);
create table sandboxes (
  seq bigint not null generated always as identity,
  id text not null,
  account_id text not null,
  key_id text not null,
  project_id text,
  state text not null,
  end_reason text,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint,
  lifetime_secs integer not null,
  idle_secs integer not null,
  memory_bytes bigint not null,
  limits text not null,
  metadata text not null,
  evidence text,
  worker_id text not null,
  lease_until bigint not null,
  idempotency_key text,
  request_hash text,
  from_snapshot text,
  on_timeout text not null default 'end'::text,
  last_snapshot text,
  last_snapshot_error text,
  launcher text,
  kept bytea,
  kept_until bigint,
  service_id text,
  disk_bytes bigint not null default 0,
  needs integer not null default 0,
  network text,
  network_version integer not null default 1,
  leased_up bigint not null default 0,
  leased_down bigint not null default 0,
  constraint sandboxes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint sandboxes_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint sandboxes_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint sandboxes_pkey PRIMARY KEY (seq),
  constraint sandboxes_id_key UNIQUE (id),
  constraint sandboxes_idempotency UNIQUE (account_id, idempotency_key)
);
CREATE INDEX sandboxes_account ON sandboxes USING btree (account_id, seq);
CREATE INDEX sandboxes_ended ON sandboxes USING btree (ended_at);
CREATE INDEX sandboxes_kept ON sandboxes USING btree (launcher) WHERE (ended_at IS NULL);
CREATE INDEX sandboxes_live ON sandboxes USING btree (account_id, worker_id) WHERE (ended_at IS NULL);
CREATE INDEX sandboxes_waiting ON sandboxes USING btree (seq) WHERE ((ended_at IS NULL) AND (worker_id = ''::text));
create table schema_version (
  version integer not null
);
create table sends (
  seq bigint not null generated always as identity,
  at bigint not null,
  account_id text not null,
  kind text not null,
  amount bigint not null,
  constraint sends_pkey PRIMARY KEY (seq)
);
CREATE INDEX sends_account ON sends USING btree (account_id, kind, at);
CREATE INDEX sends_at ON sends USING btree (at);
create table sessions (
  hash text not null,
  person_id text not null,
  created_at bigint not null,
  seen_at bigint not null,
  constraint sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id) ON DELETE CASCADE,
  constraint sessions_pkey PRIMARY KEY (hash)
);
CREATE INDEX sessions_person ON sessions USING btree (person_id);
create table sign_in_attempts (
  seq bigint not null generated always as identity,
  at bigint not null,
  place text not null,
  email_hash text not null,
  constraint sign_in_attempts_pkey PRIMARY KEY (seq)
);
CREATE INDEX sign_in_attempts_at ON sign_in_attempts USING btree (at);
CREATE INDEX sign_in_attempts_email ON sign_in_attempts USING btree (email_hash, at);
CREATE INDEX sign_in_attempts_place ON sign_in_attempts USING btree (place, at);
create table snapshots (
  seq bigint not null generated always as identity,
  id text not null,
  account_id text not null,
  project_id text,
  key_id text not null,
  sandbox_id text not null,
  name text,
  bytes bigint not null,
  files integer,
  sha256 text,
  store_id text not null,
  created_at bigint not null,
  written_until bigint,
  constraint snapshots_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint snapshots_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint snapshots_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint snapshots_pkey PRIMARY KEY (seq),
  constraint snapshots_id_key UNIQUE (id)
);
CREATE INDEX snapshots_account ON snapshots USING btree (account_id, seq);
CREATE INDEX snapshots_created ON snapshots USING btree (created_at);
CREATE INDEX snapshots_written ON snapshots USING btree (written_until) WHERE (written_until IS NOT NULL);
create table submission_networks (
  submission_seq bigint not null,
  network text not null,
  leased_up bigint not null default 0,
  leased_down bigint not null default 0,
  egress text,
  constraint submission_networks_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint submission_networks_pkey PRIMARY KEY (submission_seq)
);
create table submission_progress (
  submission_seq bigint not null,
  body bytea not null,
  constraint submission_progress_submission_seq_fkey FOREIGN KEY (submission_seq) REFERENCES submissions(seq) ON DELETE CASCADE,
  constraint submission_progress_pkey PRIMARY KEY (submission_seq)
);
create table submissions (
  seq bigint not null generated always as identity,
  id text not null,
  account_id text not null,
  key_id text not null,
  project_id text,
  language text not null,
  profile text not null,
  status text not null,
  attempts integer not null,
  fence integer not null default 0,
  idempotency_key text,
  request_hash text,
  created_at bigint not null,
  started_at bigint,
  completed_at bigint,
  worker_id text,
  lease_until bigint,
  verdict text,
  live integer,
  judgement_seq bigint,
  test integer,
  cause text,
  original_id text,
  judge0 integer,
  completed_runs integer,
  takes_input integer,
  constraint submissions_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'completed'::text, 'error'::text]))),
  constraint submissions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint submissions_judgement_seq_fkey FOREIGN KEY (judgement_seq) REFERENCES judgements(seq) ON DELETE CASCADE,
  constraint submissions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint submissions_pkey PRIMARY KEY (seq),
  constraint submissions_id_key UNIQUE (id),
  constraint submissions_idempotency UNIQUE (account_id, idempotency_key)
);
CREATE INDEX submissions_account ON submissions USING btree (account_id, seq);
CREATE INDEX submissions_ended ON submissions USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX submissions_judgement ON submissions USING btree (judgement_seq, test) WHERE (judgement_seq IS NOT NULL);
CREATE INDEX submissions_pending ON submissions USING btree (key_id, seq) WHERE (status = 'pending'::text);
CREATE INDEX submissions_running ON submissions USING btree (lease_until, key_id) WHERE (status = 'running'::text);
create table tiers (
  name text not null,
  requests_per_minute integer not null,
  concurrency integer not null,
  sandboxes integer not null default 10,
  sandbox_memory_bytes bigint not null default '4294967296'::bigint,
  executions integer not null default 16,
  snapshots integer not null default 20,
  snapshot_bytes bigint not null default '4294967296'::bigint,
  sandbox_disk_bytes bigint not null default '17179869184'::bigint,
  constraint tiers_pkey PRIMARY KEY (name)
);
create table uncounted (
  submission_seq bigint not null,
  account_id text not null,
  language text not null,
  verdict text not null,
  completed_at bigint not null,
  wait_ms bigint not null,
  run_ms bigint not null,
  key_id text,
  constraint uncounted_pkey PRIMARY KEY (submission_seq)
);
create table uncounted_deliveries (
  delivery_seq bigint not null,
  endpoint_id text not null,
  state text not null,
  ended_at bigint not null,
  constraint uncounted_deliveries_pkey PRIMARY KEY (delivery_seq)
);
create table version_contents (
  version_seq bigint not null,
  test integer not null,
  place integer not null,
  content_seq bigint not null,
  constraint version_contents_content_seq_fkey FOREIGN KEY (content_seq) REFERENCES contents(seq),
  constraint version_contents_version_seq_fkey FOREIGN KEY (version_seq) REFERENCES versions(seq) ON DELETE CASCADE,
  constraint version_contents_pk PRIMARY KEY (version_seq, test, place)
);
CREATE INDEX version_contents_of ON version_contents USING btree (content_seq);
create table versions (
  seq bigint not null generated always as identity,
  account_id text not null,
  hash text not null,
  definition text not null,
  checker bytea,
  complete integer not null,
  used_at bigint not null,
  harness text,
  grader bytea,
  constraint versions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint versions_pkey PRIMARY KEY (seq),
  constraint versions_hash UNIQUE (account_id, hash)
);
CREATE INDEX versions_used ON versions USING btree (used_at);
create table workers (
  id text not null,
  slots integer not null,
  languages text not null,
  readiness text not null,
  proven_at bigint not null,
  announced_at bigint not null,
  lease_until bigint not null,
  constraint workers_pkey PRIMARY KEY (id)
);
create view foreign_submissions as select submission_seq, account_id, api, language_id as category, settings as data, expected_output as reference, additional_files as attachment, callback_url, endpoint_id, status as note, compile_output from judge0_submissions;
CREATE OR REPLACE FUNCTION judge0_submission_accepted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    declare
      runs integer := (new.settings::jsonb ->> 'number_of_runs')::integer;
    begin
      -- A restore adds submissions that have ended.
      if not exists (select from submissions where seq = new.submission_seq and status = 'pending') then
        return null;
      end if;
      update submissions set judge0 = case when runs > 1 then 2 else 1 end
      where seq = new.submission_seq and judge0 is null;
      if runs > 1 then
        update programs
        set additions = convert_to((coalesce(convert_from(additions, 'UTF8'), '{"files":[],"entry":null,"args":[],"env":[],"limits":{}}')::jsonb
          || jsonb_build_object('runs', runs))::text, 'UTF8')
        where submission_seq = new.submission_seq
          and (additions is null or not convert_from(additions, 'UTF8')::jsonb ? 'runs');
      end if;
      return null;
    end $function$;
CREATE OR REPLACE FUNCTION judge0_submission_ended()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    begin
      update outcomes set compile_output = new.compile_output
      where submission_seq = new.submission_seq and compile_output is distinct from new.compile_output;
      return null;
    end $function$;
CREATE TRIGGER judge0_submission_accepted AFTER INSERT ON judge0_submissions FOR EACH ROW WHEN ((new.api = 'judge0'::text)) EXECUTE FUNCTION judge0_submission_accepted();
CREATE TRIGGER judge0_submission_ended AFTER UPDATE OF compile_output ON judge0_submissions FOR EACH ROW WHEN ((new.compile_output IS NOT NULL)) EXECUTE FUNCTION judge0_submission_ended();
