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

/** Inputs and answers of tests, each once per account. */
interface ContentTable {
  seq: Generated<number>;
  account_id: string;
  /** SHA-256, hexadecimal. */
  hash: string;
  bytes: Buffer;
}

/** Immutable definitions of problems, each once per account. */
interface VersionTable {
  seq: Generated<number>;
  account_id: string;
  /** SHA-256 of the definition, the checker and the contents, hexadecimal. */
  hash: string;
  /** JSON of a Definition (src/domain/judgement.ts). */
  definition: string;
  /** The program of the checker as JSON (src/domain/program-options.ts); null for a built-in one. */
  checker: Buffer | null;
  /** 1 once all its contents are stored. */
  complete: number;
  /** When it was last stored or used. Without judgements and problems, it is deleted with the records of that time. */
  used_at: number;
}

/** Place 0 is the input of the test, the others are its answers. */
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

/** The versions that a problem keeps. */
interface ProblemVersionTable {
  problem_seq: number;
  /** 1 for the first. */
  number: number;
  version_seq: number;
  tests: number;
  /** The size of all inputs and answers. */
  bytes: number;
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
  /** The problem and the number of its version; null for tests of a request. The problem may be deleted. */
  problem_id: string | null;
  problem_version: number | null;
}

/** The program of a judgement. It has its own table because the rows of judgements are read often. */
interface JudgedProgramTable {
  judgement_seq: number;
  code: Buffer;
  additions: Buffer | null;
}

/** The ended runs of judgements. */
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

/** Send requests of members in the last minute. */
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
  /** Increases with every claim: the account with the lowest was served least recently. */
  turn: Generated<number>;
  /** Null if not suspended. */
  suspended_at: number | null;
  /** Increases with claims of its deliveries: among accounts with equal attempts under way, the lowest goes first. */
  delivery_turn: Generated<number>;
}

interface ProjectTable {
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  /** An archived project gets no new keys and endpoints; its records stay. */
  archived_at: number | null;
}

interface ApiKeyTable {
  id: string;
  account_id: string;
  project_id: string | null;
  name: string;
  prefix: string;
  hash: string;
  /** Null: the tier's value. */
  requests_per_minute: number | null;
  concurrency: number | null;
  /** JSON array of profile names. */
  profiles: string;
  default_profile: string;
  created_at: number;
  revoked_at: number | null;
  /** Expiry of a rotated key; null for none. */
  expires_at: number | null;
  /** The key that this one replaces. */
  replaces: string | null;
  last_used_at: number | null;
  /** Increases with every claim: the key with the lowest was served least recently. */
  turn: Generated<number>;
}

/** The requests of each key in the last minute and the newest one before, for an exact sliding window. */
interface QuotaTable {
  key_id: string;
  /** Increasing number per key. */
  n: number;
  at: number;
}

/** Narrow on purpose, because claim, renew and finish rewrite the row. */
interface SubmissionTable {
  /** Order of arrival, independent of clocks. */
  seq: Generated<number>;
  id: string;
  account_id: string;
  key_id: string;
  project_id: string | null;
  language: string;
  profile: string;
  status: string;
  /** Runs that count against the allowed attempts. */
  attempts: number;
  /** Increases with every claim and is never reused; leases are checked against it. */
  fence: Generated<number>;
  idempotency_key: string | null;
  request_hash: string | null;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  worker_id: string | null;
  lease_until: number | null;
  verdict: string | null;
  /** Null until the end, and for an end before this column. */
  cause: string | null;
  /** The submission that this one repeats, which may be deleted. */
  original_id: string | null;
  /** 1 if a user may watch the run, 2 if the client also gives it input; otherwise null. */
  live: number | null;
  /** The judgement of which it is a run, and the number of the test, from 0; null for a single submission. */
  judgement_seq: number | null;
  test: number | null;
  /** 1 with a row in judge0_submissions, 2 if the submission also runs several times; otherwise null. */
  judge0: number | null;
  /** Completed runs of a submission that has given up its slot between two runs, otherwise null. */
  completed_runs: number | null;
}

interface ProgramTable {
  submission_seq: number;
  code: Buffer;
  stdin: Buffer;
  /** JSON (src/domain/program-options.ts) as UTF-8; null for a program of source and input alone. */
  additions: Buffer | null;
}

interface OutcomeTable {
  submission_seq: number;
  stdout: Buffer | null;
  stderr: Buffer | null;
  /** JSON of the rest of the Outcome. */
  body: string;
}

/** How far submissions of several runs have come that have not ended. */
interface ProgressTable {
  submission_seq: number;
  /** JSON, see src/domain/progress.ts. */
  body: Buffer;
}

/** Samples of runs that were long enough to have some. */
interface SamplesTable {
  submission_seq: number;
  /** JSON, see src/domain/samples.ts. */
  body: string;
}

/** What clients of Judge0 send besides the program. */
interface Judge0Table {
  submission_seq: number;
  /** The account of the submission, so that an index has the newest of an account. */
  account_id: string;
  language_id: number;
  expected_output: Buffer | null;
  additional_files: Buffer | null;
  /** JSON, see src/domain/judge0/submission.ts. */
  settings: string;
  callback_url: string | null;
  /** The endpoint that signs the callback. */
  endpoint_id: string | null;
  /** Null until the end. */
  status: number | null;
  /** The output of a successful compilation; null if it is empty. */
  compile_output: Buffer | null;
}

/** Receivers of a project's results. */
interface EndpointTable {
  id: string;
  project_id: string;
  url: string;
  /** Sealed with the key file; see src/webhooks/. */
  secret: Buffer;
  /** `standard`: the HMAC key is the decoded secret; `raw`: its characters. */
  signing: string;
  /** 1 or 0. */
  active: number;
  created_at: number;
  removed_at: number | null;
  /** End of the first delivery that failed since the last success; null while deliveries succeed. */
  failing_since: number | null;
}

/** Secrets that a rotation replaced: deliveries are also signed with them until they expire. */
interface FormerSecretTable {
  id: string;
  endpoint_id: string;
  /** Sealed, like the current secret. */
  secret: Buffer;
  ends_at: number;
}

/** The outbox: rows are inserted in the transaction of the result, so that a crash loses none. */
interface DeliveryTable {
  seq: Generated<number>;
  id: string;
  endpoint_id: string;
  /** Null for a delivery of a judgement, and for a test, which has its own body. */
  submission_seq: number | null;
  judgement_seq: number | null;
  /** The header webhook-id: the id of the submission or judgement; a test has its own. */
  message_id: string;
  /** `result`, `replay` or `test`. */
  kind: string;
  /** 1 for the callback of a Judge0 client instead of a record, otherwise null. */
  callback: number | null;
  body: Buffer | null;
  /** `pending`, `delivered` or `failed`. */
  state: string;
  /** Recorded attempts. */
  attempts: number;
  /** Time of the next attempt; null for an ended delivery. */
  next_at: number | null;
  /** Increases with every claim. */
  fence: Generated<number>;
  lease_until: number | null;
  created_at: number;
  ended_at: number | null;
  /** The reason for a failure without an attempt, otherwise null. */
  reason: string | null;
}

interface AttemptTable {
  delivery_seq: number;
  /** 1 for the first. */
  number: number;
  at: number;
  latency_ms: number;
  /** The receiver's HTTP status; null without a response. */
  status: number | null;
  /** The error in words, for people. */
  error: string | null;
  /** The first bytes of the response. */
  answer: Buffer | null;
  /** JSON pairs of names and values; null for an attempt without them, and of releases that did not store them. */
  sent_headers: string | null;
  answer_headers: string | null;
}

/** The audit trail of changes. */
interface AuditTable {
  seq: Generated<number>;
  at: number;
  /** `cli`, or the e-mail of a person. */
  actor: string;
  /** Such as `key.create`. */
  action: string;
  /** Id of the changed object. */
  subject: string;
  account_id: string | null;
  /** JSON, never a secret. */
  detail: string;
  /** Address of the client; null for a command. */
  address: string | null;
}

/** Announcements of live workers. */
interface WorkerTable {
  id: string;
  slots: number;
  /** JSON array of names. */
  languages: string;
  /** JSON of its newest Readiness. */
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
  /** 1 or 0: sees and changes all accounts. */
  administrator: number;
  /** Password hash with its parameters; null for a person who only signs in with the provider. */
  password: string | null;
  /** Issuer and subject at the provider; null before the first sign-in with it. */
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
  /** `first`: of the first administrator; `invite`; `reset`: of a forgotten password. */
  kind: string;
  /** Null for the first administrator, who chooses an e-mail. */
  email: string | null;
  /** The person whose password is reset. */
  person_id: string | null;
  account_id: string | null;
  administrator: number;
  created_at: number;
  expires_at: number;
}

/** Ended submissions that are not yet in the history. The submission itself may be deleted. */
interface UncountedTable {
  submission_seq: number;
  account_id: string;
  /** Null in rows of earlier releases, which are in `history_keys` already or never. */
  key_id: string | null;
  language: string;
  /** See `classOf` (src/domain/history.ts). */
  verdict: string;
  completed_at: number;
  wait_ms: number;
  run_ms: number;
}

/** Number of submissions that ended in the minute, later the hour, that begins at `at`. */
interface HistoryTable {
  at: number;
  account_id: string;
  language: string;
  verdict: string;
  amount: number;
}

/** Ended submissions by wait and run times. */
interface HistoryTimesTable {
  at: number;
  account_id: string;
  /** `wait`: from acceptance to start; `run`: from start to end. */
  kind: string;
  /** See src/domain/history.ts. */
  bin: number;
  amount: number;
}

/** Ended submissions by key. */
interface HistoryKeysTable {
  at: number;
  account_id: string;
  key_id: string;
  verdict: string;
  amount: number;
}

/** Ended deliveries that are not yet in the history. */
interface UncountedDeliveryTable {
  delivery_seq: number;
  endpoint_id: string;
  /** `delivered` or `failed`. */
  state: string;
  ended_at: number;
}

/** Ended deliveries. */
interface HistoryDeliveriesTable {
  at: number;
  /** The account of the endpoint. */
  account_id: string;
  endpoint_id: string;
  state: string;
  amount: number;
}

/** The most that was pending and running at once in the minute, later the hour, that begins at `at`. */
interface HistoryLoadTable {
  at: number;
  /** Empty: the whole service, also when nothing was pending or running. */
  account_id: string;
  pending: number;
  running: number;
  /** The slots of all workers; 0 in rows of an account. */
  slots: number;
}

/** Output of watched runs, until their end. */
interface LiveOutputTable {
  submission_seq: number;
  /** Fence of the claim: a repeated run starts without output. */
  fence: number;
  n: number;
  /** `stdout` or `stderr`. */
  stream: string;
  /** Offset in the stream, in bytes. */
  at: number;
  bytes: Buffer;
}

interface LiveInputTable {
  submission_seq: number;
  n: number;
  /** Bytes up to the end of this piece. */
  total: number;
  /** Null for a signal; both are null for the end of the input. */
  bytes: Buffer | null;
  signal: number | null;
}

/** Sign-in attempts of the last minute, over all processes. */
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
  /** Time of the last sign-in. */
  at: number;
}

export type SubmissionRow = Selectable<SubmissionTable>;
export type ProgramRow = Selectable<ProgramTable>;
export type OutcomeRow = Selectable<OutcomeTable>;
export type JudgementRow = Selectable<JudgementTable>;
export type UncountedRow = Selectable<UncountedTable>;
