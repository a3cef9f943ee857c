import { type Schema, TABLES, type TableShape } from "../database/schema.ts";

type TableName = keyof Schema;

/** The tables that a backup does not have, and why. It has all others, so that a new table is in the backups without any further change. */
const NOT_BACKED_UP: Partial<Readonly<Record<TableName, string>>> = {
  quota: "the requests of the last minute",
  sends: "the requests of the last minute",
  sign_in_attempts: "the attempts of the last minute",
  known_places: "only decides whether people are told of a sign-in from a new network",
  workers: "the workers that are alive now",
  links: "the processes that are alive now",
  live_output: "the output of runs that have not ended",
  sessions: "a restore of an old copy must not grant access",
  snapshots: "their archives are files of the machines, which a backup does not have",
  invitations: "a restore of an old copy must not grant access",
};

/** The tables of a backup, each after the tables that it references. */
export const BACKED_UP: readonly TableShape[] = TABLES.filter(({ name }) => !(name in NOT_BACKED_UP));

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
