CREATE TABLE "accounts" (
  "id" text primary key,
  "name" text not null unique,
  "tier" text not null references "tiers" ("name"),
  "created_at" bigint not null,
  "turn" bigint default 0 not null,
  "suspended_at" bigint,
  "delivery_turn" bigint default 0 not null
);
CREATE INDEX accounts_turn on accounts (turn);
CREATE TABLE "api_keys" (
  "id" text primary key,
  "account_id" text not null references "accounts" ("id"),
  "project_id" text,
  "name" text not null,
  "prefix" text not null,
  "hash" text not null unique,
  "requests_per_minute" integer,
  "concurrency" integer,
  "profiles" text not null,
  "default_profile" text not null,
  "created_at" bigint not null,
  "revoked_at" bigint,
  "last_used_at" bigint,
  "turn" bigint default 0 not null,
  "expires_at" bigint,
  "replaces" text references "api_keys" ("id")
);
CREATE INDEX "api_keys_account" on "api_keys" ("account_id", "created_at", "id");
CREATE INDEX "api_keys_newest" on "api_keys" ("created_at", "id");
CREATE INDEX api_keys_project on api_keys (project_id, created_at, id) where revoked_at is null;
CREATE INDEX "api_keys_turn" on "api_keys" ("turn");
CREATE INDEX api_keys_unrevoked on api_keys (account_id, created_at, id) where revoked_at is null;
CREATE TABLE "attempts" (
  "delivery_seq" bigint not null references "deliveries" ("seq") on delete cascade,
  "number" integer not null,
  "at" bigint not null,
  "latency_ms" integer not null,
  "status" integer,
  "error" text,
  "answer" blob,
  "sent_headers" text,
  "answer_headers" text,
  constraint "attempts_pk" primary key ("delivery_seq", "number")
);
CREATE TABLE "audit" (
  "seq" integer primary key autoincrement,
  "at" bigint not null,
  "actor" text not null,
  "action" text not null,
  "subject" text not null,
  "account_id" text,
  "detail" text not null,
  "address" text
);
CREATE INDEX "audit_account" on "audit" ("account_id", "seq");
CREATE INDEX "audit_action" on "audit" ("action", "seq");
CREATE INDEX "audit_actor" on "audit" ("actor", "seq");
CREATE INDEX audit_door on audit (at) where action in ('person.sign-in', 'person.sign-out', 'person.refuse');
CREATE INDEX "audit_subject" on "audit" ("subject", "seq");
CREATE TABLE "contents" (
  "seq" integer primary key autoincrement,
  "account_id" text not null references "accounts" ("id"),
  "hash" text not null,
  "bytes" blob not null,
  constraint "contents_hash" unique ("account_id", "hash")
);
CREATE TABLE "deliveries" (
  "seq" integer primary key autoincrement,
  "id" text not null unique,
  "endpoint_id" text not null references "endpoints" ("id"),
  "submission_seq" bigint references "submissions" ("seq") on delete cascade,
  "message_id" text not null,
  "kind" text not null check (kind in ('result', 'replay', 'test')),
  "body" blob,
  "state" text not null check (state in ('pending', 'delivered', 'failed')),
  "attempts" integer default 0 not null,
  "next_at" bigint,
  "fence" integer default 0 not null,
  "lease_until" bigint,
  "created_at" bigint not null,
  "ended_at" bigint,
  "reason" text,
  "judgement_seq" bigint references "judgements" ("seq") on delete cascade,
  "callback" integer
);
CREATE INDEX deliveries_due on deliveries (next_at) where state = 'pending';
CREATE INDEX "deliveries_endpoint" on "deliveries" ("endpoint_id", "seq");
CREATE INDEX deliveries_failed on deliveries (endpoint_id, seq) where state = 'failed';
CREATE INDEX deliveries_judgement on deliveries (judgement_seq) where judgement_seq is not null;
CREATE INDEX deliveries_leased on deliveries (endpoint_id, lease_until) where lease_until is not null;
CREATE INDEX deliveries_pending_replays on deliveries (endpoint_id)
    where state = 'pending' and kind = 'replay';
CREATE INDEX "deliveries_submission" on "deliveries" ("submission_seq");
CREATE INDEX deliveries_tests on deliveries (ended_at) where submission_seq is null;
CREATE INDEX deliveries_waiting on deliveries (endpoint_id, next_at, seq) where state = 'pending';
CREATE TABLE "egress_days" (
  "owner_id" text not null,
  "day" text not null,
  "bytes_up" bigint not null,
  "bytes_down" bigint not null,
  constraint "egress_days_pk" primary key ("owner_id", "day")
);
CREATE INDEX "egress_days_day" on "egress_days" ("day");
CREATE TABLE "egress_hosts" (
  "account_id" text not null references "accounts" ("id"),
  "day" text not null,
  "project_id" text not null,
  "name" text not null,
  "decision" text not null,
  "connections" bigint not null,
  "bytes_up" bigint not null,
  "bytes_down" bigint not null,
  constraint "egress_hosts_pk" primary key ("account_id", "day", "project_id", "name", "decision")
);
CREATE INDEX "egress_hosts_day" on "egress_hosts" ("day");
CREATE TABLE "endpoints" (
  "id" text primary key,
  "project_id" text not null references "projects" ("id"),
  "url" text not null,
  "secret" blob not null,
  "signing" text not null check (signing in ('standard', 'raw')),
  "active" integer not null,
  "created_at" bigint not null,
  "removed_at" bigint,
  "failing_since" bigint
);
CREATE INDEX endpoints_failing on endpoints (failing_since, id) where failing_since is not null;
CREATE INDEX endpoints_newest on endpoints (created_at, id) where removed_at is null;
CREATE INDEX "endpoints_project" on "endpoints" ("project_id");
CREATE INDEX endpoints_unremoved on endpoints (project_id) where removed_at is null;
CREATE TABLE "executions" (
  "sandbox_seq" bigint not null references "sandboxes" ("seq") on delete cascade,
  "number" integer not null,
  "key_id" text not null references "api_keys" ("id"),
  "kind" text not null,
  "request" text not null,
  "status" text not null,
  "verdict" text,
  "cause" text,
  "started_at" bigint not null,
  "completed_at" bigint,
  "processes_left" integer,
  "body" text,
  "stdout" blob,
  "stderr" blob,
  "egress" text,
  constraint "executions_pk" primary key ("sandbox_seq", "number")
);
CREATE INDEX executions_running on executions (sandbox_seq) where completed_at is null;
CREATE VIEW foreign_submissions as
    select submission_seq, account_id, api, language_id as category, settings as data, expected_output as reference,
      additional_files as attachment, callback_url, endpoint_id, status as note, compile_output
    from judge0_submissions;
CREATE TRIGGER foreign_submissions_insert instead of insert on foreign_submissions begin
      insert into judge0_submissions (submission_seq, account_id, api, language_id, settings, expected_output,
        additional_files, callback_url, endpoint_id, status)
      values (new.submission_seq, new.account_id, new.api, new.category, new.data, new.reference, new.attachment,
        new.callback_url, new.endpoint_id, new.note);
    end;
CREATE TRIGGER foreign_submissions_update instead of update on foreign_submissions begin
      update judge0_submissions set status = new.note, compile_output = new.compile_output
      where submission_seq = new.submission_seq;
    end;
CREATE TABLE "former_secrets" (
  "id" text primary key,
  "endpoint_id" text not null references "endpoints" ("id"),
  "secret" blob not null,
  "ends_at" bigint not null
);
CREATE INDEX "former_secrets_endpoint" on "former_secrets" ("endpoint_id", "ends_at");
CREATE TABLE "history" (
  "at" bigint not null,
  "account_id" text not null,
  "language" text not null,
  "verdict" text not null,
  "amount" bigint not null,
  constraint "history_pk" primary key ("at", "account_id", "language", "verdict")
);
CREATE INDEX "history_account" on "history" ("account_id", "at");
CREATE TABLE "history_deliveries" (
  "at" bigint not null,
  "account_id" text not null,
  "endpoint_id" text not null,
  "state" text not null,
  "amount" bigint not null,
  constraint "history_deliveries_pk" primary key ("at", "account_id", "endpoint_id", "state")
);
CREATE INDEX "history_deliveries_account" on "history_deliveries" ("account_id", "at");
CREATE TABLE "history_keys" (
  "at" bigint not null,
  "account_id" text not null,
  "key_id" text not null,
  "verdict" text not null,
  "amount" bigint not null,
  constraint "history_keys_pk" primary key ("at", "account_id", "key_id", "verdict")
);
CREATE INDEX "history_keys_account" on "history_keys" ("account_id", "at");
CREATE TABLE "history_load" (
  "at" bigint not null,
  "account_id" text not null,
  "pending" bigint not null,
  "running" bigint not null,
  "slots" bigint not null,
  constraint "history_load_pk" primary key ("at", "account_id")
);
CREATE INDEX "history_load_account" on "history_load" ("account_id", "at");
CREATE TABLE "history_times" (
  "at" bigint not null,
  "account_id" text not null,
  "kind" text not null check (kind in ('wait', 'run')),
  "bin" integer not null,
  "amount" bigint not null,
  constraint "history_times_pk" primary key ("at", "account_id", "kind", "bin")
);
CREATE INDEX "history_times_account" on "history_times" ("account_id", "at");
CREATE TABLE "invitations" (
  "id" text primary key,
  "hash" text not null unique,
  "kind" text not null check (kind in ('first', 'invite', 'reset')),
  "email" text,
  "person_id" text references "people" ("id") on delete cascade,
  "account_id" text references "accounts" ("id") on delete cascade,
  "administrator" integer not null,
  "created_at" bigint not null,
  "expires_at" bigint not null
);
CREATE TABLE "judge0_submissions" (
  "submission_seq" bigint primary key references "submissions" ("seq") on delete cascade,
  "account_id" text not null references "accounts" ("id"),
  "language_id" integer not null,
  "expected_output" blob,
  "additional_files" blob,
  "settings" text not null,
  "callback_url" text,
  "endpoint_id" text references "endpoints" ("id"),
  "status" integer,
  "compile_output" blob,
  "api" text default 'judge0' not null
);
CREATE INDEX "judge0_submissions_account" on "judge0_submissions" ("account_id", "submission_seq");
CREATE TABLE "judged_programs" (
  "judgement_seq" bigint primary key references "judgements" ("seq") on delete cascade,
  "code" blob not null,
  "additions" blob
);
CREATE TABLE "judgements" (
  "seq" integer primary key autoincrement,
  "id" text not null unique,
  "account_id" text not null references "accounts" ("id"),
  "key_id" text not null references "api_keys" ("id"),
  "project_id" text,
  "version_seq" bigint not null references "versions" ("seq"),
  "language" text not null,
  "profile" text not null,
  "stop" text not null,
  "status" text not null check (status in ('pending', 'running', 'completed', 'error')),
  "states" text not null,
  "verdict" text,
  "score" double precision,
  "created_at" bigint not null,
  "completed_at" bigint,
  "problem_id" text,
  "problem_version" integer,
  "grading" text
);
CREATE INDEX "judgements_account" on "judgements" ("account_id", "seq");
CREATE INDEX "judgements_completed" on "judgements" ("completed_at");
CREATE INDEX judgements_open on judgements (key_id, seq) where completed_at is null;
CREATE INDEX judgements_problem on judgements (account_id, problem_id, seq) where problem_id is not null;
CREATE INDEX "judgements_version" on "judgements" ("version_seq");
CREATE TABLE "known_places" (
  "person_id" text not null references "people" ("id") on delete cascade,
  "place" text not null,
  "at" bigint not null,
  constraint "known_places_pk" primary key ("person_id", "place")
);
CREATE TABLE "links" (
  "id" text primary key,
  "fingerprint" text not null,
  "address" text,
  "is_service" integer not null,
  "sandboxes" integer not null,
  "memory_bytes" bigint not null,
  "cpus" integer not null,
  "snapshot_store" text,
  "announced_at" bigint not null,
  "lease_until" bigint not null,
  "disk_bytes" bigint default 0 not null,
  "network" integer default 0 not null
);
CREATE TABLE "live_input" (
  "submission_seq" bigint not null references "submissions" ("seq") on delete cascade,
  "n" integer not null,
  "total" bigint not null,
  "bytes" blob,
  "signal" integer,
  constraint "live_input_pk" primary key ("submission_seq", "n")
);
CREATE TABLE "live_output" (
  "submission_seq" bigint not null references "submissions" ("seq") on delete cascade,
  "fence" integer not null,
  "n" integer not null,
  "stream" text not null check (stream in ('stdout', 'stderr')),
  "at" bigint not null,
  "bytes" blob not null,
  constraint "live_output_pk" primary key ("submission_seq", "fence", "n")
);
CREATE TABLE "members" (
  "person_id" text not null references "people" ("id") on delete cascade,
  "account_id" text not null references "accounts" ("id") on delete cascade,
  constraint "members_pk" primary key ("person_id", "account_id")
);
CREATE INDEX "members_account" on "members" ("account_id");
CREATE TABLE "network_bounds" (
  "owner_id" text primary key,
  "account_id" text not null references "accounts" ("id"),
  "project_id" text references "projects" ("id"),
  "version" integer not null,
  "policy" text not null,
  "up_per_day" bigint,
  "down_per_day" bigint,
  "changed_at" bigint not null
);
CREATE INDEX "network_bounds_account" on "network_bounds" ("account_id");
CREATE TABLE "outcomes" (
  "submission_seq" bigint primary key references "submissions" ("seq") on delete cascade,
  "stdout" blob,
  "stderr" blob,
  "body" text not null,
  "compile_output" blob
);
CREATE TABLE "people" (
  "id" text primary key,
  "email" text not null unique,
  "name" text not null,
  "administrator" integer not null,
  "password" text,
  "provider_subject" text unique,
  "created_at" bigint not null,
  "seen_at" bigint,
  "disabled_at" bigint
);
CREATE TABLE "problem_versions" (
  "problem_seq" bigint not null references "problems" ("seq") on delete cascade,
  "number" integer not null,
  "version_seq" bigint not null references "versions" ("seq"),
  "tests" integer not null,
  "bytes" bigint not null,
  "cpu_secs" double precision,
  "memory_bytes" bigint,
  "created_at" bigint not null,
  "faults" text,
  constraint "problem_versions_pk" primary key ("problem_seq", "number")
);
CREATE INDEX "problem_versions_of" on "problem_versions" ("version_seq");
CREATE TABLE "problems" (
  "seq" integer primary key autoincrement,
  "id" text not null unique,
  "account_id" text not null references "accounts" ("id"),
  "name" text not null,
  "title" text not null,
  "version" integer not null,
  "created_at" bigint not null,
  "updated_at" bigint not null,
  constraint "problems_name" unique ("account_id", "name")
);
CREATE INDEX "problems_account" on "problems" ("account_id", "seq");
CREATE TABLE "programs" (
  "submission_seq" bigint primary key references "submissions" ("seq") on delete cascade,
  "code" blob not null,
  "stdin" blob not null,
  "additions" blob
);
CREATE TABLE "projects" (
  "id" text primary key,
  "account_id" text not null references "accounts" ("id"),
  "name" text not null,
  "created_at" bigint not null,
  "archived_at" bigint,
  constraint "projects_name" unique ("account_id", "name")
);
CREATE INDEX "projects_newest" on "projects" ("created_at", "id");
CREATE TABLE "quota" (
  "key_id" text not null references "api_keys" ("id") on delete cascade,
  "n" bigint not null,
  "at" bigint not null,
  constraint "quota_pk" primary key ("key_id", "n")
);
CREATE TABLE "runs" (
  "judgement_seq" bigint not null references "judgements" ("seq") on delete cascade,
  "test" integer not null,
  "submission_seq" bigint not null references "submissions" ("seq") on delete cascade,
  "verdict" text not null,
  "share" double precision not null,
  "message" text,
  "cpu_usec" bigint,
  "wall_ns" bigint,
  "memory_bytes" bigint,
  constraint "runs_pk" primary key ("judgement_seq", "test")
);
CREATE INDEX "runs_submission" on "runs" ("submission_seq");
CREATE TABLE "samples" (
  "submission_seq" bigint primary key references "submissions" ("seq") on delete cascade,
  "body" text not null
);
CREATE TABLE "sandbox_egress" (
  "sandbox_seq" bigint primary key references "sandboxes" ("seq") on delete cascade,
  "body" text not null
);
CREATE TABLE "sandbox_usage" (
  "sandbox_seq" bigint primary key references "sandboxes" ("seq") on delete cascade,
  "samples" text not null
);
CREATE TABLE "sandboxes" (
  "seq" integer primary key autoincrement,
  "id" text not null unique,
  "account_id" text not null references "accounts" ("id"),
  "key_id" text not null references "api_keys" ("id"),
  "project_id" text references "projects" ("id"),
  "state" text not null,
  "end_reason" text,
  "created_at" bigint not null,
  "started_at" bigint,
  "ended_at" bigint,
  "lifetime_secs" integer not null,
  "idle_secs" integer not null,
  "memory_bytes" bigint not null,
  "limits" text not null,
  "metadata" text not null,
  "evidence" text,
  "worker_id" text not null,
  "lease_until" bigint not null,
  "idempotency_key" text,
  "request_hash" text,
  "from_snapshot" text,
  "on_timeout" text default 'end' not null,
  "last_snapshot" text,
  "last_snapshot_error" text,
  "launcher" text,
  "kept" blob,
  "kept_until" bigint,
  "service_id" text,
  "disk_bytes" bigint default 0 not null,
  "needs" integer default 0 not null,
  "network" text,
  "network_version" integer default 1 not null,
  "leased_up" bigint default 0 not null,
  "leased_down" bigint default 0 not null,
  constraint "sandboxes_idempotency" unique ("account_id", "idempotency_key")
);
CREATE INDEX "sandboxes_account" on "sandboxes" ("account_id", "seq");
CREATE INDEX "sandboxes_ended" on "sandboxes" ("ended_at");
CREATE INDEX sandboxes_kept on sandboxes (launcher) where ended_at is null;
CREATE INDEX sandboxes_live on sandboxes (account_id, worker_id) where ended_at is null;
CREATE INDEX sandboxes_waiting on sandboxes (seq) where ended_at is null and worker_id = '';
CREATE TABLE schema_version (
  version integer not null
);
CREATE TABLE "sends" (
  "seq" integer primary key autoincrement,
  "at" bigint not null,
  "account_id" text not null,
  "kind" text not null,
  "amount" bigint not null
);
CREATE INDEX "sends_account" on "sends" ("account_id", "kind", "at");
CREATE INDEX "sends_at" on "sends" ("at");
CREATE TABLE "sessions" (
  "hash" text primary key,
  "person_id" text not null references "people" ("id") on delete cascade,
  "created_at" bigint not null,
  "seen_at" bigint not null
);
CREATE INDEX "sessions_person" on "sessions" ("person_id");
CREATE TABLE "sign_in_attempts" (
  "seq" integer primary key autoincrement,
  "at" bigint not null,
  "place" text not null,
  "email_hash" text not null
);
CREATE INDEX "sign_in_attempts_at" on "sign_in_attempts" ("at");
CREATE INDEX "sign_in_attempts_email" on "sign_in_attempts" ("email_hash", "at");
CREATE INDEX "sign_in_attempts_place" on "sign_in_attempts" ("place", "at");
CREATE TABLE "snapshots" (
  "seq" integer primary key autoincrement,
  "id" text not null unique,
  "account_id" text not null references "accounts" ("id"),
  "project_id" text references "projects" ("id"),
  "key_id" text not null references "api_keys" ("id"),
  "sandbox_id" text not null,
  "name" text,
  "bytes" bigint not null,
  "files" integer,
  "sha256" text,
  "store_id" text not null,
  "created_at" bigint not null,
  "written_until" bigint
);
CREATE INDEX "snapshots_account" on "snapshots" ("account_id", "seq");
CREATE INDEX "snapshots_created" on "snapshots" ("created_at");
CREATE INDEX snapshots_written on snapshots (written_until) where written_until is not null;
CREATE TABLE "submission_networks" (
  "submission_seq" bigint primary key references "submissions" ("seq") on delete cascade,
  "network" text not null,
  "leased_up" bigint default 0 not null,
  "leased_down" bigint default 0 not null,
  "egress" text
);
CREATE TABLE "submission_progress" (
  "submission_seq" bigint primary key references "submissions" ("seq") on delete cascade,
  "body" blob not null
);
CREATE TABLE "submissions" (
  "seq" integer primary key autoincrement,
  "id" text not null unique,
  "account_id" text not null references "accounts" ("id"),
  "key_id" text not null references "api_keys" ("id"),
  "project_id" text,
  "language" text not null,
  "profile" text not null,
  "status" text not null check (status in ('pending', 'running', 'completed', 'error')),
  "attempts" integer not null,
  "fence" integer default 0 not null,
  "idempotency_key" text,
  "request_hash" text,
  "created_at" bigint not null,
  "started_at" bigint,
  "completed_at" bigint,
  "worker_id" text,
  "lease_until" bigint,
  "verdict" text,
  "live" integer,
  judgement_seq bigint references judgements (seq) on delete cascade,
  "test" integer,
  "cause" text,
  "original_id" text,
  "judge0" integer,
  "completed_runs" integer,
  "takes_input" integer,
  constraint "submissions_idempotency" unique ("account_id", "idempotency_key")
);
CREATE INDEX "submissions_account" on "submissions" ("account_id", "seq");
CREATE INDEX submissions_ended on submissions (completed_at) where completed_at is not null;
CREATE INDEX submissions_judgement on submissions (judgement_seq, test) where judgement_seq is not null;
CREATE INDEX submissions_pending on submissions (key_id, seq) where status = 'pending';
CREATE INDEX submissions_running on submissions (lease_until, key_id) where status = 'running';
CREATE TABLE "tiers" (
  "name" text primary key,
  "requests_per_minute" integer not null,
  "concurrency" integer not null,
  "sandboxes" integer default 10 not null,
  "sandbox_memory_bytes" bigint default 4294967296 not null,
  "executions" integer default 16 not null,
  "snapshots" integer default 20 not null,
  "snapshot_bytes" bigint default 4294967296 not null,
  "sandbox_disk_bytes" bigint default 17179869184 not null
);
CREATE TABLE "uncounted" (
  "submission_seq" integer primary key,
  "account_id" text not null,
  "language" text not null,
  "verdict" text not null,
  "completed_at" bigint not null,
  "wait_ms" bigint not null,
  "run_ms" bigint not null,
  "key_id" text
);
CREATE TABLE "uncounted_deliveries" (
  "delivery_seq" integer primary key,
  "endpoint_id" text not null,
  "state" text not null,
  "ended_at" bigint not null
);
CREATE TABLE "version_contents" (
  "version_seq" bigint not null references "versions" ("seq") on delete cascade,
  "test" integer not null,
  "place" integer not null,
  "content_seq" bigint not null references "contents" ("seq"),
  constraint "version_contents_pk" primary key ("version_seq", "test", "place")
);
CREATE INDEX "version_contents_of" on "version_contents" ("content_seq");
CREATE TABLE "versions" (
  "seq" integer primary key autoincrement,
  "account_id" text not null references "accounts" ("id"),
  "hash" text not null,
  "definition" text not null,
  "checker" blob,
  "complete" integer not null,
  "used_at" bigint not null,
  "harness" text,
  "grader" blob,
  constraint "versions_hash" unique ("account_id", "hash")
);
CREATE INDEX "versions_used" on "versions" ("used_at");
CREATE TABLE "workers" (
  "id" text primary key,
  "slots" integer not null,
  "languages" text not null,
  "readiness" text not null,
  "proven_at" bigint not null,
  "announced_at" bigint not null,
  "lease_until" bigint not null
);
