import { sql, type Transaction } from "kysely";
import type { NewSnapshot, Snapshot } from "../../domain/sandboxes/snapshot.ts";
import { isLive } from "../access/key-rows.ts";
import type { Abilities, Database } from "../database/database.ts";
import type { Row, Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { ENQUEUE_LOCK } from "../submissions/enqueue.ts";

export type SnapshotRows = ReturnType<typeof snapshotRows>;

/** The most ids of one query. */
const AT_ONCE = 500;

export interface BeginSnapshot {
  readonly snapshot: NewSnapshot;
  /** What the archive will probably have at least; it counts for the quota until the end. */
  readonly leastBytes: number;
  /** When it is given up. */
  readonly untilMs: number;
}

export type Begun =
  /** `mostBytes`: what the archive may have. */
  | { readonly kind: "begun"; readonly mostBytes: number }
  | { readonly kind: "quota"; readonly what: "snapshots" | "bytes of snapshots"; readonly most: number }
  | { readonly kind: "suspended" }
  /** The key of the request is no longer valid. */
  | { readonly kind: "revoked" };

export interface SnapshotPage {
  readonly snapshots: readonly Snapshot[];
  readonly next: number | null;
}

/**
 * The rows of snapshots. A row is added before its archive is written, so that it counts for the quota of its account; it exists for clients
 * only when it is complete. The files of a machine without a row are removed (SnapshotSweeper).
 * @param now milliseconds since the epoch.
 */
export function snapshotRows({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  const complete = () => db.selectFrom("snapshots").selectAll().where("written_until", "is", null);
  return {
    /** Adds a snapshot whose archive is going to be written, if the account may have it. @param isOwn whether a key has asked for it. */
    begin({ snapshot, leastBytes, untilMs }: BeginSnapshot, isOwn: boolean): Promise<Begun> {
      return transactions.run(async (trx): Promise<Begun> => {
        const owner = await allowance(trx, abilities, snapshot);
        if (isOwn && !isLive(owner, now())) return { kind: "revoked" };
        if (owner.suspended_at !== null) return { kind: "suspended" };
        const used = await usedBy(trx, snapshot);
        if (used.amount >= owner.snapshots) return { kind: "quota", what: "snapshots", most: owner.snapshots };
        if (used.bytes + leastBytes > owner.snapshot_bytes)
          return { kind: "quota", what: "bytes of snapshots", most: owner.snapshot_bytes };
        await trx
          .insertInto("snapshots")
          .values({ ...fromNew(snapshot), bytes: leastBytes, written_until: untilMs })
          .execute();
        return { kind: "begun", mostBytes: owner.snapshot_bytes - used.bytes };
      });
    },

    /**
     * Makes a snapshot complete. @returns null if it was given up meanwhile; `quota` if others have used the bytes meanwhile, after which
     * there is no row.
     */
    complete(
      snapshot: NewSnapshot,
      written: Pick<Snapshot, "bytes" | "files" | "sha256">,
    ): Promise<Snapshot | null | { readonly kind: "quota"; readonly most: number }> {
      return transactions.run(async (trx) => {
        const { snapshot_bytes: most } = await allowance(trx, abilities, snapshot);
        const { bytes } = await usedBy(trx, snapshot);
        if (bytes + written.bytes > most) {
          await trx.deleteFrom("snapshots").where("id", "=", snapshot.id).execute();
          return { kind: "quota" as const, most };
        }
        const row = await trx
          .updateTable("snapshots")
          .set({ ...written, written_until: null })
          .where("id", "=", snapshot.id)
          .where("written_until", "is not", null)
          .returningAll()
          .executeTakeFirst();
        return row ? toSnapshot(row) : null;
      });
    },

    /** Removes a snapshot that could not be written. */
    async abandon(id: string): Promise<void> {
      await transactions.run((trx) =>
        trx.deleteFrom("snapshots").where("id", "=", id).where("written_until", "is not", null).execute(),
      );
    },

    /** @returns null if the account has no such snapshot. */
    async get(id: string, accountId: string): Promise<Snapshot | null> {
      const row = await complete().where("id", "=", id).where("account_id", "=", accountId).executeTakeFirst();
      return row ? toSnapshot(row) : null;
    },

    /** Newest first. @param before `next` of the previous page. */
    async list(
      accountId: string,
      { before = Number.MAX_SAFE_INTEGER, max }: { readonly before?: number | undefined; readonly max: number },
    ): Promise<SnapshotPage> {
      const rows = await complete()
        .where("account_id", "=", accountId)
        .where("seq", "<", before)
        .orderBy("account_id", "desc")
        .orderBy("seq", "desc")
        .limit(max + 1)
        .execute();
      const page = rows.slice(0, max);
      return { snapshots: page.map(toSnapshot), next: rows.length > max ? (page.at(-1)?.seq ?? null) : null };
    },

    /** Removes a snapshot. @returns what was removed; null if the account has no such snapshot. */
    remove(id: string, accountId: string): Promise<Snapshot | null> {
      return transactions.run(async (trx) => {
        const row = await trx
          .deleteFrom("snapshots")
          .where("id", "=", id)
          .where("account_id", "=", accountId)
          .where("written_until", "is", null)
          .returningAll()
          .executeTakeFirst();
        return row ? toSnapshot(row) : null;
      });
    },

    /** The complete snapshots of a machine, by account. */
    async ofStore(storeId: string): Promise<Pick<Snapshot, "id" | "accountId" | "bytes">[]> {
      const rows = await db
        .selectFrom("snapshots")
        .select(["id", "account_id", "bytes"])
        .where("store_id", "=", storeId)
        .where("written_until", "is", null)
        .execute();
      return rows.map((row) => ({ id: row.id, accountId: row.account_id, bytes: row.bytes }));
    },

    /** Which of these snapshots have a row, also an incomplete one. */
    async known(ids: readonly string[]): Promise<Set<string>> {
      const found = new Set<string>();
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const part = ids.slice(at, at + AT_ONCE);
        for (const { id } of await db.selectFrom("snapshots").select("id").where("id", "in", part).execute())
          found.add(id);
      }
      return found;
    },

    /**
     * Removes snapshots that were created at `beforeMs` or earlier, and those whose writer has taken too long. @param all also others that are
     * written: no process writes one. @returns how many were removed; the caller repeats the call while it is `max`.
     */
    sweep({
      beforeMs,
      all,
      max,
    }: {
      readonly beforeMs: number;
      readonly all: boolean;
      readonly max: number;
    }): Promise<number> {
      return transactions.run(async (trx) => {
        const old = trx
          .selectFrom("snapshots")
          .select("seq")
          .where("written_until", "is", null)
          .where("created_at", "<=", beforeMs);
        let late = trx.selectFrom("snapshots").select("seq").where("written_until", "is not", null);
        if (!all) late = late.where("written_until", "<", now());
        const seqs = [...(await old.limit(max).execute()), ...(await late.limit(max).execute())]
          .map(({ seq }) => seq)
          .slice(0, max);
        if (seqs.length > 0) await trx.deleteFrom("snapshots").where("seq", "in", seqs).execute();
        return seqs.length;
      });
    },
  };
}

async function allowance(trx: Transaction<Schema>, { lock }: Pick<Abilities, "lock">, { keyId }: NewSnapshot) {
  await lock(trx, ENQUEUE_LOCK);
  return await trx
    .selectFrom("api_keys")
    .innerJoin("accounts", "accounts.id", "api_keys.account_id")
    .innerJoin("tiers", "tiers.name", "accounts.tier")
    .select(["revoked_at", "expires_at", "suspended_at", "snapshots", "snapshot_bytes"])
    .where("api_keys.id", "=", keyId)
    .executeTakeFirstOrThrow();
}

/** What the account has besides this snapshot. */
async function usedBy(trx: Transaction<Schema>, { id, accountId }: NewSnapshot) {
  const { amount, bytes } = await trx
    .selectFrom("snapshots")
    .select((eb) => [
      eb.fn.countAll<number | string>().as("amount"),
      eb.fn.coalesce(eb.fn.sum<number | string>("bytes"), sql.lit(0)).as("bytes"),
    ])
    .where("account_id", "=", accountId)
    .where("id", "!=", id)
    .executeTakeFirstOrThrow();
  return { amount: Number(amount), bytes: Number(bytes) };
}

function fromNew(snapshot: NewSnapshot) {
  return {
    id: snapshot.id,
    account_id: snapshot.accountId,
    project_id: snapshot.projectId,
    key_id: snapshot.keyId,
    sandbox_id: snapshot.sandboxId,
    name: snapshot.name,
    store_id: snapshot.storeId,
    created_at: snapshot.createdAtMs,
  };
}

export function toSnapshot(row: Omit<Row<"snapshots">, "seq">): Snapshot {
  if (row.files === null || row.sha256 === null) throw new Error("a snapshot that is not complete was read");
  return {
    id: row.id,
    accountId: row.account_id,
    projectId: row.project_id,
    keyId: row.key_id,
    sandboxId: row.sandbox_id,
    name: row.name,
    bytes: row.bytes,
    files: row.files,
    sha256: row.sha256,
    createdAtMs: row.created_at,
    storeId: row.store_id,
  };
}
