import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Facts, factsOf, schemaOf, valuesOf } from "../facts.ts";
import { isoTime, timeSchema } from "../record.ts";
import type { Sandbox } from "./sandbox.ts";

/*
 * A snapshot has the files of a sandbox at one moment: everything in its home directory and in /tmp, which is all that its programs can
 * change. It belongs to the account, lives longer than its sandbox, and can become the files of any number of new sandboxes.
 */

/** A snapshot that is complete. All times are milliseconds since the epoch, UTC. */
export interface Snapshot {
  readonly id: string;
  readonly accountId: string;
  readonly projectId: string | null;
  readonly keyId: string;
  readonly sandboxId: string;
  /** What the client chose; null if it chose nothing. */
  readonly name: string | null;
  /** Length of the archive. */
  readonly bytes: number;
  /** Entries of the archive: files, directories, links and FIFOs. */
  readonly files: number;
  /** Of the archive, in hexadecimal. The same files have the same hash. */
  readonly sha256: string;
  readonly createdAtMs: number;
  /** The machine that has the archive: the id of its SnapshotStore. */
  readonly storeId: string;
}

/** What is known of a snapshot before its archive is written. */
export type NewSnapshot = Omit<Snapshot, "bytes" | "files" | "sha256">;

/** The longest name, in characters. */
export const SNAPSHOT_NAME_CHARACTERS = 128;

export function newSnapshot(
  { id: sandboxId, accountId, projectId }: Sandbox,
  { name, keyId, storeId }: Pick<Snapshot, "name" | "keyId" | "storeId">,
  nowMs: number,
): NewSnapshot {
  return { id: randomUUID(), accountId, projectId, keyId, sandboxId, name, createdAtMs: nowMs, storeId };
}

const snapshotFact = factsOf<Snapshot>();
const count = z.int().min(0);

export const SNAPSHOT_FACTS = {
  id: snapshotFact(z.uuid(), ({ id }) => id, "Id of the snapshot"),
  sandbox_id: snapshotFact(z.uuid(), ({ sandboxId }) => sandboxId, "Id of the sandbox whose files it has"),
  name: snapshotFact(z.string().nullable(), ({ name }) => name, "The name that the client chose"),
  bytes: snapshotFact(count, ({ bytes }) => bytes, "Length of the archive, which counts for the quota of the account"),
  files: snapshotFact(count, ({ files }) => files, "Files, directories, links and FIFOs"),
  sha256: snapshotFact(z.string(), ({ sha256 }) => sha256, "SHA-256 of the archive: the same files have the same hash"),
  created_at: snapshotFact(timeSchema, ({ createdAtMs }) => isoTime(createdAtMs), "ISO 8601, UTC, milliseconds"),
} as const satisfies Facts;

export const snapshotSchema = schemaOf(SNAPSHOT_FACTS).describe("The files of a sandbox at one moment");
export type SnapshotRecord = z.output<typeof snapshotSchema>;

export function toSnapshotRecord(snapshot: Snapshot): SnapshotRecord {
  return valuesOf(SNAPSHOT_FACTS, snapshot);
}
