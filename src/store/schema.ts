import type { Generated, Selectable } from "kysely";

/**
 * The tables as Kysely sees them. Times are milliseconds since the epoch; everything that a
 * submitter wrote is bytes, because PostgreSQL's text refuses U+0000 and programs do not.
 */
export interface Schema {
  tiers: TierTable;
  accounts: AccountTable;
  projects: ProjectTable;
  api_keys: ApiKeyTable;
  quota: QuotaTable;
  submissions: SubmissionTable;
  programs: ProgramTable;
  outcomes: OutcomeTable;
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
  live_output: LiveOutputTable;
  sign_in_attempts: SignInAttemptTable;
  known_places: KnownPlaceTable;
  sends: SendTable;
}

/** What members had sent within the last minute. */
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
  /** Rises with every claim: the account with the lowest was served longest ago. */
  turn: Generated<number>;
  /** Null: not suspended. */
  suspended_at: number | null;
  /** Rises when its deliveries are claimed: among accounts with as many attempts under way, the lowest goes first. */
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
  /** When a rotated key stops; null: never by itself. */
  expires_at: number | null;
  /** The key that this one was rotated from. */
  replaces: string | null;
  last_used_at: number | null;
  /** Rises with every claim: the key with the lowest was served longest ago. */
  turn: Generated<number>;
}

/** The requests of the last minute of each key, and the newest before that: what an exact window needs. */
interface QuotaTable {
  key_id: string;
  /** Counts up per key. */
  n: number;
  at: number;
}

/** Narrow on purpose: a row is rewritten by claim, renew and finish. */
interface SubmissionTable {
  /** Order of arrival; a clock may step back, this does not. */
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
  /** Rises with every claim, and is never reused: what a lease is checked against. */
  fence: Generated<number>;
  idempotency_key: string | null;
  request_hash: string | null;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  worker_id: string | null;
  lease_until: number | null;
  verdict: string | null;
  /** 1: somebody may be watching; else null. */
  live: number | null;
}

interface ProgramTable {
  submission_seq: number;
  code: Buffer;
  stdin: Buffer;
}

interface OutcomeTable {
  submission_seq: number;
  stdout: Buffer | null;
  stderr: Buffer | null;
  /** JSON of everything else in the Outcome. */
  body: string;
}

/** Where a project's results are sent. */
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
}

/** What a rotation replaced: deliveries are signed with it too until it ends. */
interface FormerSecretTable {
  id: string;
  endpoint_id: string;
  /** Sealed, as the endpoint's own. */
  secret: Buffer;
  ends_at: number;
}

/** The outbox: written in the transaction of the result, so that no crash loses one. */
interface DeliveryTable {
  seq: Generated<number>;
  id: string;
  endpoint_id: string;
  /** Null for a test send, which has a body of its own. */
  submission_seq: number | null;
  /** The header webhook-id: the submission's id. */
  message_id: string;
  /** `result`, `replay` or `test`. */
  kind: string;
  body: Buffer | null;
  /** `pending`, `delivered` or `failed`. */
  state: string;
  /** Attempts that are recorded. */
  attempts: number;
  /** When the next attempt is due; null when it is over. */
  next_at: number | null;
  /** Rises with every claim. */
  fence: Generated<number>;
  lease_until: number | null;
  created_at: number;
  ended_at: number | null;
  /** Why it failed without an attempt; else null. */
  reason: string | null;
}

interface AttemptTable {
  delivery_seq: number;
  /** 1 for the first. */
  number: number;
  at: number;
  latency_ms: number;
  /** The receiver's HTTP status; null when there was no answer. */
  status: number | null;
  /** Why there was no answer, in words for an operator. */
  error: string | null;
  /** How the answer begins. */
  answer: Buffer | null;
}

/** Who changed what; rows are only ever added. */
interface AuditTable {
  seq: Generated<number>;
  at: number;
  /** `cli`, or the e-mail of a person. */
  actor: string;
  /** Such as `key.create`. */
  action: string;
  /** Id of what was changed. */
  subject: string;
  account_id: string | null;
  /** JSON, never a secret. */
  detail: string;
  /** Of the client that made the request; null for a command. */
  address: string | null;
}

/** Workers that live, as services in other processes see them. */
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

/** Who may sign in to the dashboard. */
interface PersonTable {
  id: string;
  /** As it is compared: lower case. */
  email: string;
  name: string;
  /** 1 or 0: sees and changes all accounts. */
  administrator: number;
  /** Its hash with its parameters; null: this person signs in with the provider alone. */
  password: string | null;
  /** Issuer and subject of the provider's person that this one is; null until the first sign-in with it. */
  provider_subject: string | null;
  created_at: number;
  seen_at: number | null;
  disabled_at: number | null;
}

/** Which accounts a person may look at. */
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

/** One-time links that nobody has used yet. */
interface InvitationTable {
  id: string;
  /** SHA-256 of the token in the link, hexadecimal. */
  hash: string;
  /** `first`: of the first administrator; `invite`; `reset`: of a forgotten password. */
  kind: string;
  /** Null for the first administrator, who chooses. */
  email: string | null;
  /** Whose password is reset. */
  person_id: string | null;
  account_id: string | null;
  administrator: number;
  created_at: number;
  expires_at: number;
}

/** What has ended and is not in the history yet. Its submission may be gone. */
interface UncountedTable {
  submission_seq: number;
  account_id: string;
  language: string;
  verdict: string;
  completed_at: number;
  wait_ms: number;
  run_ms: number;
}

/** How many ended in the minute, later the hour, that begins at `at`. */
interface HistoryTable {
  at: number;
  account_id: string;
  language: string;
  verdict: string;
  amount: number;
}

/** The same by how long they waited and ran. */
interface HistoryTimesTable {
  at: number;
  account_id: string;
  /** `wait`: from accepted to begun; `run`: from begun to ended. */
  kind: string;
  /** See src/domain/history.ts. */
  bin: number;
  amount: number;
}

/** What runs that somebody watches have written so far; gone when they ended. */
interface LiveOutputTable {
  submission_seq: number;
  /** Of the claim: a run that begins again, begins with nothing. */
  fence: number;
  n: number;
  /** `stdout` or `stderr`. */
  stream: string;
  /** Where in the stream it begins, in bytes. */
  at: number;
  bytes: Buffer;
}

/** The attempts of the last minute to sign in, of all processes. */
interface SignInAttemptTable {
  seq: Generated<number>;
  at: number;
  /** The network of the client (src/http/network.ts). */
  place: string;
  /** SHA-256 of the e-mail: a stranger may type anything there, a password too. */
  email_hash: string;
}

/** From where people have signed in with a password. */
interface KnownPlaceTable {
  person_id: string;
  place: string;
  /** When last. */
  at: number;
}

export type SubmissionRow = Selectable<SubmissionTable>;
export type OutcomeRow = Selectable<OutcomeTable>;
export type UncountedRow = Selectable<UncountedTable>;
