import type { Generated, Selectable } from "kysely";

/**
 * The tables for Kysely, which needs all of them in one interface. Times are milliseconds since the epoch. Programs, input and output
 * are bytes, because PostgreSQL's text type rejects U+0000.
 */
export interface Schema {
  tiers: TierTable;
  accounts: AccountTable;
  projects: ProjectTable;
  api_keys: ApiKeyTable;
  quota: QuotaTable;
  submissions: SubmissionTable;
  submission_progress: ProgressTable;
  programs: ProgramTable;
  outcomes: OutcomeTable;
  samples: SamplesTable;
  judge0_submissions: Judge0Table;
  endpoints: EndpointTable;
  former_secrets: FormerSecretTable;
  deliveries: DeliveryTable;
  attempts: AttemptTable;
  audit: AuditTable;
  workers: WorkerTable;
  people: PersonTable;
  members: MemberTable;
  sessions: SessionTable;
  invitations: InvitationTable;
  uncounted: UncountedTable;
  history: HistoryTable;
  history_times: HistoryTimesTable;
  history_keys: HistoryKeysTable;
  uncounted_deliveries: UncountedDeliveryTable;
  history_deliveries: HistoryDeliveriesTable;
  history_load: HistoryLoadTable;
  live_output: LiveOutputTable;
  live_input: LiveInputTable;
  sign_in_attempts: SignInAttemptTable;
  known_places: KnownPlaceTable;
  sends: SendTable;
  contents: ContentTable;
  versions: VersionTable;
  version_contents: VersionContentTable;
  problems: ProblemTable;
  problem_versions: ProblemVersionTable;
  judgements: JudgementTable;
  judged_programs: JudgedProgramTable;
  runs: RunTable;
}

/** The inputs and answers of tests. Each content is stored once per account. */
interface ContentTable {
  seq: Generated<number>;
  account_id: string;
  /** SHA-256, hexadecimal. */
  hash: string;
  bytes: Buffer;
}

/** The immutable definitions of judgements and of versions of problems. Each is stored once per account. */
interface VersionTable {
  seq: Generated<number>;
  account_id: string;
  /** SHA-256 of the definition, the checker and the contents, hexadecimal; another text while the version is being deleted. */
  hash: string;
  /** JSON of a Definition (src/domain/judgement.ts). */
  definition: string;
  /** The program of the checker (`encodeProgram` in src/store/submissions/rows.ts); null if the checker is no program. */
  checker: Buffer | null;
  /** 1 if all its contents are stored, 0 while they are being stored, -1 while the version is being deleted. */
  complete: number;
  /** When it was last stored or used. If no judgement or problem uses it, it is deleted like a record that ended at this time. */
  used_at: number;
}

/** The contents of the tests of a version. Place 0 of a test is its input; the other places are its answers. */
interface VersionContentTable {
  version_seq: number;
  test: number;
  place: number;
  content_seq: number;
}

interface ProblemTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  name: string;
  title: string;
  /** The number of the current version. */
  version: number;
  created_at: number;
  updated_at: number;
}

/** The newest versions of problems. */
interface ProblemVersionTable {
  problem_seq: number;
  /** 1 for the first. */
  number: number;
  version_seq: number;
  tests: number;
  /** The size of all inputs and answers together. */
  bytes: number;
  /** The limits of each test; null for those of the profile. */
  cpu_secs: number | null;
  memory_bytes: number | null;
  created_at: number;
}

interface JudgementTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  key_id: string;
  project_id: string | null;
  version_seq: number;
  language: string;
  profile: string;
  stop: string;
  status: string;
  /** The states of the tests (src/domain/judgement.ts), one letter each. */
  states: string;
  verdict: string | null;
  score: number | null;
  created_at: number;
  completed_at: number | null;
  /** The problem, which may have been deleted, and the number of its version. Both are null if the request contained the tests. */
  problem_id: string | null;
  problem_version: number | null;
}

/** The programs of judgements. They have their own table, because the rows of `judgements` are read often. */
interface JudgedProgramTable {
  judgement_seq: number;
  code: Buffer;
  additions: Buffer | null;
}

/** The results of ended runs of judgements. */
interface RunTable {
  judgement_seq: number;
  test: number;
  submission_seq: number;
  verdict: string;
  /** The earned part of the points of the test, 0 to 1. */
  share: number;
  /** The message of the checker or of the run. */
  message: string | null;
  cpu_usec: number | null;
  wall_ns: number | null;
  memory_bytes: number | null;
}

/** Requests of the last minute that made the service send to webhook endpoints, and the deliveries that replays added. */
interface SendTable {
  seq: Generated<number>;
  at: number;
  account_id: string;
  kind: string;
  amount: number;
}

interface TierTable {
  name: string;
  requests_per_minute: number;
  concurrency: number;
}

interface AccountTable {
  id: string;
  name: string;
  tier: string;
  created_at: number;
  /** Of accounts with equally many running submissions, the one with the lowest turn is served next. A claim gives it the highest turn. */
  turn: Generated<number>;
  /** Null if the account is not suspended. */
  suspended_at: number | null;
  /** The turn for claims of deliveries, among accounts with equally many attempts under way. */
  delivery_turn: Generated<number>;
}

interface ProjectTable {
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  /** An archived project gets no new keys or endpoints; its records stay. Null if the project is not archived. */
  archived_at: number | null;
}

interface ApiKeyTable {
  id: string;
  account_id: string;
  project_id: string | null;
  name: string;
  prefix: string;
  hash: string;
  /** The limits of the key; null for those of the tier. */
  requests_per_minute: number | null;
  concurrency: number | null;
  /** JSON array of profile names. */
  profiles: string;
  default_profile: string;
  created_at: number;
  revoked_at: number | null;
  /** When a rotated key expires; null for a key that was not rotated. */
  expires_at: number | null;
  /** The key that this one replaced; null for none. */
  replaces: string | null;
  last_used_at: number | null;
  /** Of keys of an account with equally many running submissions, the one with the lowest turn is next. A claim gives it the highest. */
  turn: Generated<number>;
}

/** The requests of each key in the last minute, for an exact sliding window. The newest request of a key stays, whatever its age. */
interface QuotaTable {
  key_id: string;
  /** The number of the request among those of the key, which increases. */
  n: number;
  at: number;
}

/** Submissions. The rows are small, because each claim, renewal and end of a submission rewrites its row. */
interface SubmissionTable {
  /** The order of acceptance, independent of clocks. */
  seq: Generated<number>;
  id: string;
  account_id: string;
  key_id: string;
  project_id: string | null;
  language: string;
  profile: string;
  status: string;
  /** How many attempts count against MAX_ATTEMPTS. */
  attempts: number;
  /** Increases with every claim, and never decreases: a lease is valid only if it has this fence. */
  fence: Generated<number>;
  idempotency_key: string | null;
  request_hash: string | null;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  worker_id: string | null;
  lease_until: number | null;
  verdict: string | null;
  /** Null until the end, and for accepted submissions that ended before this column existed. */
  cause: string | null;
  /** Id of the submission that this one repeats, which may have been deleted; null for none. */
  original_id: string | null;
  /** 1 if a user may watch the run, 2 if the client also gives it input; otherwise null. */
  live: number | null;
  /** The judgement of which it is a run, and the number of the test, from 0. Both are null for a single submission. */
  judgement_seq: number | null;
  test: number | null;
  /** 1 if there is a row in judge0_submissions, 2 if the submission also runs several times; otherwise null. */
  judge0: number | null;
  /** The number of completed runs when the submission last gave up its slot between two runs; null if it never did. */
  completed_runs: number | null;
}

/** The programs of single submissions. */
interface ProgramTable {
  submission_seq: number;
  code: Buffer;
  stdin: Buffer;
  /** JSON (src/domain/program-options.ts) as UTF-8; null if the program consists of one source file and its input. */
  additions: Buffer | null;
}

/** The outcomes of ended submissions. */
interface OutcomeTable {
  submission_seq: number;
  stdout: Buffer | null;
  stderr: Buffer | null;
  /** JSON of the other fields of the Outcome (src/store/submissions/rows.ts). */
  body: string;
}

/** How far submissions have come that gave up their slot between two of their runs. The end of a submission deletes its row. */
interface ProgressTable {
  submission_seq: number;
  /** JSON; src/domain/progress.ts has the format. */
  body: Buffer;
}

/** The samples of submissions that ran long enough to have some. */
interface SamplesTable {
  submission_seq: number;
  /** JSON; src/domain/samples.ts has the format. */
  body: string;
}

/** What submissions have that came through the Judge0 API, in addition to their program and outcome. */
interface Judge0Table {
  submission_seq: number;
  /** The account of the submission. An index has the submissions of an account in their order. */
  account_id: string;
  language_id: number;
  expected_output: Buffer | null;
  additional_files: Buffer | null;
  /** JSON; src/domain/judge0/submission.ts has the format. */
  settings: string;
  callback_url: string | null;
  /** The endpoint whose secret signs the callback; null without a callback. */
  endpoint_id: string | null;
  /** The Judge0 status of an ended submission; null until the end. */
  status: number | null;
  /** The output of a successful compilation; null if there is none. */
  compile_output: Buffer | null;
}

/** The webhook endpoints, which receive the results of projects. */
interface EndpointTable {
  id: string;
  project_id: string;
  url: string;
  /** The secret that signs messages, encrypted with the key in a file; see src/webhooks/. */
  secret: Buffer;
  /** `standard` if the key of the HMAC is the decoded secret, `raw` if it is the text of the secret. */
  signing: string;
  /** 1 if the endpoint is active, otherwise 0. */
  active: number;
  created_at: number;
  removed_at: number | null;
  /** When the first delivery failed since the last success; null if none has failed since. See `Endpoint.failingSinceMs`. */
  failing_since: number | null;
}

/** Secrets that a rotation replaced: deliveries are also signed with them until they expire. */
interface FormerSecretTable {
  id: string;
  endpoint_id: string;
  /** Encrypted, like the current secret. */
  secret: Buffer;
  ends_at: number;
}

/** The outbox of webhook deliveries. The transaction that stores a result adds its deliveries, so that a crash loses none. */
interface DeliveryTable {
  seq: Generated<number>;
  id: string;
  endpoint_id: string;
  /** Null for a delivery of a judgement, and for a test message, which has a `body`. */
  submission_seq: number | null;
  judgement_seq: number | null;
  /** The header webhook-id: the id of the submission or judgement, or an id of the test message. */
  message_id: string;
  /** `result`, `replay` or `test`. */
  kind: string;
  /** 1 for a Judge0 callback, which has another body and URL than other deliveries; otherwise null. */
  callback: number | null;
  body: Buffer | null;
  /** `pending`, `delivered` or `failed`. */
  state: string;
  /** The number of recorded attempts. */
  attempts: number;
  /** The time of the next attempt; null for an ended delivery. */
  next_at: number | null;
  /** Increases with every claim. */
  fence: Generated<number>;
  lease_until: number | null;
  created_at: number;
  ended_at: number | null;
  /** Why the delivery failed, if it was ended without a further attempt, as after the removal of its endpoint; otherwise null. */
  reason: string | null;
}

/** The attempts to send deliveries. */
interface AttemptTable {
  delivery_seq: number;
  /** 1 for the first. */
  number: number;
  at: number;
  latency_ms: number;
  /** The HTTP status of the response; null without a response. */
  status: number | null;
  /** The error in words, for people; null without an error. */
  error: string | null;
  /** The first bytes of the response; null without a response. */
  answer: Buffer | null;
  /**
   * The headers of the request, and the first headers of the response: JSON pairs of names and values. Null if there was no request or no
   * response, and for attempts of releases that did not store headers.
   */
  sent_headers: string | null;
  answer_headers: string | null;
}

/** The audit trail: changes, sign-ins, and reads by administrators. */
interface AuditTable {
  seq: Generated<number>;
  at: number;
  /** `cli` for a command, the e-mail of a person, or `stranger` for a refused sign-in. */
  actor: string;
  /** For example `key.create`. */
  action: string;
  /** Id of the object that was changed or read, or a name (`AuditEntry.subject`). */
  subject: string;
  account_id: string | null;
  /** JSON; never contains a secret. */
  detail: string;
  /** The address of the client, or its network for a refused sign-in; null if it is unknown, and for a command. */
  address: string | null;
}

/** The announcements of workers. */
interface WorkerTable {
  id: string;
  slots: number;
  /** JSON array of names. */
  languages: string;
  /** JSON of the Readiness (src/domain/readiness.ts) that its newest proof found. */
  readiness: string;
  proven_at: number;
  announced_at: number;
  lease_until: number;
}

/** Users of the dashboard. */
interface PersonTable {
  id: string;
  /** The e-mail in lower case, for comparisons. */
  email: string;
  name: string;
  /** 1 if the person sees and changes all accounts, otherwise 0. */
  administrator: number;
  /** The hash of the password, with its parameters; null for a person who only signs in with the provider. */
  password: string | null;
  /** Issuer and subject at the provider; null until the person signs in with the provider, and after a reset of the password. */
  provider_subject: string | null;
  created_at: number;
  seen_at: number | null;
  disabled_at: number | null;
}

/** The accounts of each person. */
interface MemberTable {
  person_id: string;
  account_id: string;
}

interface SessionTable {
  /** SHA-256 of the token in the cookie, hexadecimal. */
  hash: string;
  person_id: string;
  created_at: number;
  seen_at: number;
}

/** Unused one-time links. */
interface InvitationTable {
  id: string;
  /** SHA-256 of the token in the link, hexadecimal. */
  hash: string;
  /** `first`: for the first administrator. `invite`: for a new person. `reset`: for a person who forgot the password. */
  kind: string;
  /** Null for the first administrator, who chooses an e-mail. */
  email: string | null;
  /** The person whose password is reset; null for the other kinds. */
  person_id: string | null;
  /** The account of which the invited person becomes a member; null for none. */
  account_id: string | null;
  administrator: number;
  created_at: number;
  expires_at: number;
}

/** Ended submissions that the history has yet to count. The submissions themselves may have been deleted. */
interface UncountedTable {
  submission_seq: number;
  account_id: string;
  /** Null in rows of earlier releases: the migration that added the column has counted these submissions by key, if they had started. */
  key_id: string | null;
  language: string;
  /** See `classOf` (src/domain/history.ts). */
  verdict: string;
  completed_at: number;
  wait_ms: number;
  run_ms: number;
}

/**
 * How many submissions ended in the minute that begins at `at`. Later, rows of minutes are merged into rows of hours. The same holds for the
 * other tables of the history.
 */
interface HistoryTable {
  at: number;
  account_id: string;
  language: string;
  verdict: string;
  amount: number;
}

/** The number of ended submissions by wait time and by run time. */
interface HistoryTimesTable {
  at: number;
  account_id: string;
  /** `wait`: from acceptance to start; `run`: from start to end. */
  kind: string;
  /** The range of the time (`binOf` in src/domain/history.ts). */
  bin: number;
  amount: number;
}

/** The number of ended submissions by key. */
interface HistoryKeysTable {
  at: number;
  account_id: string;
  key_id: string;
  verdict: string;
  amount: number;
}

/** Ended deliveries that the history has yet to count. */
interface UncountedDeliveryTable {
  delivery_seq: number;
  endpoint_id: string;
  /** `delivered` or `failed`. */
  state: string;
  ended_at: number;
}

/** The number of ended deliveries by endpoint and state. */
interface HistoryDeliveriesTable {
  at: number;
  /** The account of the endpoint. */
  account_id: string;
  endpoint_id: string;
  state: string;
  amount: number;
}

/** The most submissions that were pending, and that were running, at one time in the minute or hour that begins at `at`. */
interface HistoryLoadTable {
  at: number;
  /** Empty for the whole service, which has a row even if nothing was pending or running. */
  account_id: string;
  pending: number;
  running: number;
  /** The slots of all workers; 0 in rows of an account. */
  slots: number;
}

/** The output of submissions that people watch. The end of a submission deletes its rows. */
interface LiveOutputTable {
  submission_seq: number;
  /** The fence of the claim: a repeated run begins without output. */
  fence: number;
  /** The number of the piece in the run. */
  n: number;
  /** `stdout` or `stderr`. */
  stream: string;
  /** Offset in the stream, in bytes. */
  at: number;
  bytes: Buffer;
}

/** The input that clients give to submissions while they run. The end of a submission deletes its rows. */
interface LiveInputTable {
  submission_seq: number;
  /** The number of the piece, from 1. */
  n: number;
  /** The bytes of all pieces up to this one. */
  total: number;
  /** Null for a signal. `bytes` and `signal` are both null for the end of the input. */
  bytes: Buffer | null;
  signal: number | null;
}

/** The sign-in attempts of the last minute, in all processes. */
interface SignInAttemptTable {
  seq: Generated<number>;
  at: number;
  /** The network of the client (src/http/listener/network.ts). */
  place: string;
  /** SHA-256 of the e-mail, because unknown clients can type anything there, including a password. */
  email_hash: string;
}

/** The networks from which people have signed in. */
interface KnownPlaceTable {
  person_id: string;
  place: string;
  /** The time of the last sign-in from this network. */
  at: number;
}

export type SubmissionRow = Selectable<SubmissionTable>;
export type ProgramRow = Selectable<ProgramTable>;
export type OutcomeRow = Selectable<OutcomeTable>;
export type JudgementRow = Selectable<JudgementTable>;
export type UncountedRow = Selectable<UncountedTable>;
