import type { Selectable, Transaction } from "kysely";
import { type AuditAction, type AuditActor, addressOf, nameOf } from "../../domain/audit.ts";
import type { AuditEntry } from "../access/types.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { type NamedObject, namedObjects } from "./audit-names.ts";
import { type AuditSearch, searchAudit } from "./audit-search.ts";

interface Entry {
  readonly atMs: number;
  readonly actor: AuditActor;
  readonly action: AuditAction;
  /** Id of the object that was changed or read; see `AuditEntry.subject`. */
  readonly subject: string;
  /** The account of the object; null for an object without an account. */
  readonly accountId: string | null;
  /** The new values, or the old and new values; never a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** The address of the client, if `actor` has none. */
  readonly address?: string | null;
}

/** Adds an entry in the transaction of a change, so that the change and the entry are stored together or not at all. */
export async function addAuditEntry(trx: Transaction<Schema>, entry: Entry): Promise<void> {
  await trx
    .insertInto("audit")
    .values({
      at: entry.atMs,
      actor: nameOf(entry.actor),
      action: entry.action,
      subject: entry.subject,
      account_id: entry.accountId,
      detail: JSON.stringify(entry.detail),
      address: entry.address ?? addressOf(entry.actor),
    })
    .execute();
}

/** For this time, further reads of an object by the same person get no entry, because pages reload and connect automatically. */
const READING_MS = 3_600_000;

export type AuditStore = ReturnType<typeof auditStore>;

/**
 * The audit trail. The transaction of each change adds an entry with `addAuditEntry`; entries of changes are never modified.
 * @param now milliseconds since the epoch.
 */
export function auditStore({ db }: Database, transactions: Transactions, reads: AccountReads, now: () => number) {
  return {
    /**
     * Adds an entry when an administrator reads a submission, a judgement or a sandbox, or a person is connected to a terminal of a sandbox, at most
     * once per hour for the same person and the same object.
     */
    async noteReading({
      action,
      actor,
      address,
      subject,
      accountId,
    }: {
      readonly action: "submission.read" | "judgement.read" | "sandbox.read" | "sandbox.attach";
      readonly actor: string;
      readonly address: string;
      readonly subject: string;
      readonly accountId: string;
    }): Promise<void> {
      const atMs = now();
      const noted = await db
        .selectFrom("audit")
        .select("seq")
        .where("subject", "=", subject)
        .where("action", "=", action)
        .where("actor", "=", actor)
        .where("at", ">", atMs - READING_MS)
        .executeTakeFirst();
      if (noted) return;
      const entry = { subject, accountId, address, detail: {} };
      await transactions.run((trx) => addAuditEntry(trx, { atMs, actor, action, ...entry }));
    },

    /**
     * Adds an entry for a change that is not one of the database, such as the pause of a sandbox. It is stored before the change is made, so
     * that no change lacks its entry.
     */
    async noteChange(change: {
      readonly action: Exclude<
        Extract<AuditAction, `${"sandbox" | "snapshot"}.${string}`>,
        "sandbox.read" | "sandbox.attach"
      >;
      readonly actor: AuditActor;
      readonly subject: string;
      readonly accountId: string;
      readonly detail?: Readonly<Record<string, string>>;
    }): Promise<void> {
      await transactions.run((trx) => addAuditEntry(trx, { detail: {}, ...change, atMs: now() }));
    },

    /**
     * Entries, newest first. @param before only entries with a lower `seq`.
     * @param accountIds only entries of these accounts; null or undefined for all entries.
     */
    async list({
      max,
      before,
      accountIds,
    }: {
      readonly max: number;
      readonly before?: number | undefined;
      readonly accountIds?: readonly string[] | null | undefined;
    }): Promise<AuditEntry[]> {
      if (accountIds?.length === 0) return [];
      let query = db.selectFrom("audit").leftJoin("accounts", "accounts.id", "audit.account_id");
      if (accountIds) query = query.where("audit.account_id", "in", accountIds);
      if (before !== undefined) query = query.where("audit.seq", "<", before);
      const rows = await query
        .selectAll("audit")
        .select("accounts.name as account_name")
        .orderBy("audit.seq", "desc")
        .limit(max)
        .execute();
      return rows.map(toEntry);
    },

    /**
     * Finds entries, newest first. One search reads a bounded number of entries, so it may find fewer than `max` although there are more.
     * @returns `next`: `before` of a search that continues this one; null if there is nothing older.
     */
    search(
      which: AuditSearch,
      maxRows?: number,
    ): Promise<{ readonly entries: readonly AuditEntry[]; readonly next: number | null }> {
      return reads.run(which.accountIds, async () => {
        if (which.accountIds?.length === 0) return { entries: [], next: null };
        const { seqs, next } = await searchAudit(db, which, maxRows);
        if (seqs.length === 0) return { entries: [], next };
        const rows = await db
          .selectFrom("audit")
          .leftJoin("accounts", "accounts.id", "audit.account_id")
          .selectAll("audit")
          .select("accounts.name as account_name")
          .where("audit.seq", "in", seqs)
          .orderBy("audit.seq", "desc")
          .execute();
        return { entries: rows.map(toEntry), next };
      });
    },

    /** The present names of the objects with these ids. @param accountIds only objects of these accounts, and no persons; null for all. */
    named: (ids: readonly string[], accountIds: readonly string[] | null): Promise<ReadonlyMap<string, NamedObject>> =>
      namedObjects(db, ids, accountIds),
  };
}

function toEntry(row: Selectable<Schema["audit"]> & { readonly account_name: string | null }): AuditEntry {
  return {
    seq: row.seq,
    atMs: row.at,
    actor: row.actor,
    action: row.action as AuditAction,
    subject: row.subject,
    accountId: row.account_id,
    accountName: row.account_name,
    detail: JSON.parse(row.detail) as Record<string, unknown>,
    address: row.address,
  };
}
