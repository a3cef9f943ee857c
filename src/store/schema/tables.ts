/** A table in a backup, with the order of its rows. */
export interface BackedUp {
  readonly name: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** The column whose values the database numbers. */
  readonly counts?: string;
  /** Set if a row can have several MiB, so that fewer rows are read at once. */
  readonly large?: true;
  /** A column that references other rows of the same table, which can come later in the backup. */
  readonly refersToItself?: string;
}

/**
 * The tables of a backup, each after the tables that it references. A backup does not have what is of use only for a short time: recent
 * requests and sign-in attempts, known networks, live workers, and live input and output. It does not have sessions and one-time links
 * either, because a restore of an old copy must not grant access.
 */
export const TABLES: readonly BackedUp[] = [
  { name: "tiers", key: ["name"] },
  { name: "accounts", key: ["id"] },
  { name: "projects", key: ["id"] },
  { name: "api_keys", key: ["id"], refersToItself: "replaces" },
  { name: "endpoints", key: ["id"] },
  { name: "former_secrets", key: ["id"] },
  { name: "people", key: ["id"] },
  { name: "members", key: ["person_id", "account_id"] },
  { name: "contents", key: ["seq"], counts: "seq", large: true },
  { name: "versions", key: ["seq"], counts: "seq" },
  { name: "version_contents", key: ["version_seq", "test", "place"] },
  { name: "problems", key: ["seq"], counts: "seq" },
  { name: "problem_versions", key: ["problem_seq", "number"] },
  { name: "judgements", key: ["seq"], counts: "seq" },
  { name: "judged_programs", key: ["judgement_seq"] },
  { name: "submissions", key: ["seq"], counts: "seq" },
  { name: "runs", key: ["judgement_seq", "test"] },
  { name: "programs", key: ["submission_seq"] },
  { name: "outcomes", key: ["submission_seq"] },
  { name: "submission_progress", key: ["submission_seq"], large: true },
  { name: "samples", key: ["submission_seq"] },
  { name: "judge0_submissions", key: ["submission_seq"], large: true },
  { name: "deliveries", key: ["seq"], counts: "seq" },
  { name: "attempts", key: ["delivery_seq", "number"] },
  { name: "audit", key: ["seq"], counts: "seq" },
  { name: "uncounted", key: ["submission_seq"] },
  { name: "history", key: ["at", "account_id", "language", "verdict"] },
  { name: "history_times", key: ["at", "account_id", "kind", "bin"] },
  { name: "history_keys", key: ["at", "account_id", "key_id", "verdict"] },
  { name: "uncounted_deliveries", key: ["delivery_seq"] },
  { name: "history_deliveries", key: ["at", "account_id", "endpoint_id", "state"] },
  { name: "history_load", key: ["at", "account_id"] },
];

export const BACKUP_FORMAT = 1;

/** The first line of a backup. */
export interface BackupHead {
  readonly assay: "backup";
  readonly format: number;
  /** The version of the schema that its rows have. */
  readonly schema: number;
  readonly at: string;
}

/** The line before the rows of a table. Each row is an array of values, in the order of the columns. */
export interface TableHead {
  readonly table: string;
  readonly columns: readonly string[];
}

/** The last line. If it is missing, or states another number of rows, the backup is incomplete. */
export interface BackupEnd {
  readonly end: true;
  readonly rows: number;
}

export type Cell = string | number | null | Buffer;

/** A value for JSON. Bytes are encoded, because JSON has no such type. */
export function toJson(cell: Cell): unknown {
  return Buffer.isBuffer(cell) ? { base64: cell.toString("base64") } : cell;
}

export function fromJson(value: unknown): Cell {
  if (typeof value === "string" || typeof value === "number" || value === null) return value;
  const { base64 } = value as { base64?: unknown };
  if (typeof base64 !== "string") throw new TypeError("a value is not text, a number, null or bytes");
  return Buffer.from(base64, "base64");
}
