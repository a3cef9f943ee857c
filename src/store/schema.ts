import type { Generated, Selectable } from "kysely";

/**
 * The tables as Kysely sees them. Times are milliseconds since the epoch; everything that a
 * submitter wrote is bytes, because PostgreSQL's text refuses U+0000 and programs do not.
 */
export interface Schema {
  tiers: TierTable;
  accounts: AccountTable;
  api_keys: ApiKeyTable;
  submissions: SubmissionTable;
  programs: ProgramTable;
  outcomes: OutcomeTable;
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
  last_used_at: number | null;
  /** Rises with every claim: the key with the lowest was served longest ago. */
  turn: Generated<number>;
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

export type SubmissionRow = Selectable<SubmissionTable>;
export type OutcomeRow = Selectable<OutcomeTable>;
