/** What a backup has of a table, and how its rows are found in order. */
export interface BackedUp {
  readonly name: string;
  /** Its primary key. */
  readonly key: readonly string[];
  /** The column that counts up by itself. */
  readonly counts?: string;
  /** A column that refers to rows of the same table, which may come later. */
  readonly refersToItself?: string;
}

/**
 * The tables that are worth keeping, each after those that it refers to. Not the requests of the last minute, not which
 * workers live, and not what runs have written so far: all of them are about now. Nor what lets somebody in, sessions and
 * links: who restores an old copy does not mean them.
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
  { name: "submissions", key: ["seq"], counts: "seq" },
  { name: "programs", key: ["submission_seq"] },
  { name: "outcomes", key: ["submission_seq"] },
  { name: "deliveries", key: ["seq"], counts: "seq" },
  { name: "attempts", key: ["delivery_seq", "number"] },
  { name: "audit", key: ["seq"], counts: "seq" },
  { name: "uncounted", key: ["submission_seq"] },
  { name: "history", key: ["at", "account_id", "language", "verdict"] },
  { name: "history_times", key: ["at", "account_id", "kind", "bin"] },
];

export const BACKUP_FORMAT = 1;

/** The first line of a backup. */
export interface BackupHead {
  readonly assay: "backup";
  readonly format: number;
  /** The schema that its rows are of. */
  readonly schema: number;
  readonly at: string;
}

/** Stands before the rows of a table, which are arrays in the order of the columns. */
export interface TableHead {
  readonly table: string;
  readonly columns: readonly string[];
}

/** The last line: without it, or with another count, the backup is not whole. */
export interface BackupEnd {
  readonly end: true;
  readonly rows: number;
}

export type Cell = string | number | null | Buffer;

/** Bytes are the only value that JSON does not have. */
export function toJson(cell: Cell): unknown {
  return Buffer.isBuffer(cell) ? { base64: cell.toString("base64") } : cell;
}

export function fromJson(value: unknown): Cell {
  if (typeof value === "string" || typeof value === "number" || value === null) return value;
  const { base64 } = value as { base64?: unknown };
  if (typeof base64 !== "string") throw new TypeError("a value is neither text, number, nothing nor bytes");
  return Buffer.from(base64, "base64");
}
