import type { Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import type { SealedSecret, SecretCursor } from "./types.ts";

/** Secrets per part. The number bounds how long other transactions wait for the transaction of one part. */
const PART_ROWS = 500;

/** The lock of transactions that seal and store a secret, and of those during which an encryption key is removed. */
export const SECRETS_LOCK = "endpoint secrets";

const FIRST: SecretCursor = { table: "endpoints", id: "" };

export type SecretStore = ReturnType<typeof secretStore>;

/**
 * The sealed secrets of all endpoints that were not removed, including former secrets, even expired ones.
 * @param now milliseconds since the epoch.
 */
export function secretStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * One part of the secrets. @param after `next` of the previous part. @param max the most secrets; 500 by default.
     * @returns `next`: an argument for the next part; null if there is no further part.
     */
    part(
      after: SecretCursor = FIRST,
      max: number = PART_ROWS,
    ): Promise<{ readonly secrets: readonly SealedSecret[]; readonly next: SecretCursor | null }> {
      return pageOf(db, after, max);
    },

    /**
     * Replaces the secrets of one part in one transaction, with an audit entry that has the number of replaced secrets.
     * @param renew returns the newly sealed secret, or null to keep the stored one. If it throws, no secret of the part changes.
     * @returns `read`: the number of secrets in the part; `resealed`: of those, the number replaced; `next` as of `part`.
     */
    reseal(
      renew: (endpointId: string, sealed: Buffer) => Buffer | null,
      actor: AuditActor,
      after: SecretCursor = FIRST,
      max: number = PART_ROWS,
    ): Promise<{ readonly read: number; readonly resealed: number; readonly next: SecretCursor | null }> {
      return transactions.run(async (trx) => {
        await abilities.lock(trx, SECRETS_LOCK);
        const { secrets, next } = await pageOf(trx, after, max);
        const resealed = { endpoints: 0, former_secrets: 0 };
        for (const { table, id, endpointId, sealed } of secrets) {
          const secret = renew(endpointId, sealed);
          if (secret === null) continue;
          const updated = await trx
            .updateTable(table)
            .set({ secret })
            .where("id", "=", id)
            .where("secret", "=", sealed)
            .executeTakeFirst();
          resealed[table] += Number(updated.numUpdatedRows);
        }
        const total = resealed.endpoints + resealed.former_secrets;
        if (total > 0) {
          const detail = { current: resealed.endpoints, former: resealed.former_secrets };
          const about = { action: "endpoint.reseal", subject: "webhook secrets", accountId: null } as const;
          await addAuditEntry(trx, { atMs: now(), actor, ...about, detail });
        }
        return { read: secrets.length, resealed: total, next };
      });
    },

    /**
     * Passes every sealed secret to `prove`, which may throw, and then runs `then`. No secret can be added or changed until `then` has
     * returned.
     */
    proven<T>(prove: (endpointId: string, sealed: Buffer) => void, then: () => T): Promise<T> {
      return transactions.run(async (trx) => {
        await abilities.lock(trx, SECRETS_LOCK);
        await abilities.disableStatementTimeout(trx);
        for (let after: SecretCursor | null = FIRST; after !== null; ) {
          const { secrets, next } = await pageOf(trx, after, PART_ROWS);
          for (const { endpointId, sealed } of secrets) prove(endpointId, sealed);
          after = next;
        }
        return then();
      });
    },
  };
}

/**
 * A part of the current secrets, or of the former ones, which follow. Both are in the order of their ids. A secret that is added between
 * two parts may be in none of them, but it is sealed with the newest key.
 */
async function pageOf(
  db: Pick<Transaction<Schema>, "selectFrom">,
  { table, id }: SecretCursor,
  max: number,
): Promise<{ secrets: readonly SealedSecret[]; next: SecretCursor | null }> {
  const secrets = table === "endpoints" ? await currentOnes(db, id, max) : await formerOnes(db, id, max);
  const last = secrets.at(-1);
  if (last && secrets.length === max) return { secrets, next: { table, id: last.id } };
  return { secrets, next: table === "endpoints" ? { table: "former_secrets", id: "" } : null };
}

async function currentOnes(db: Pick<Transaction<Schema>, "selectFrom">, after: string, max: number) {
  const rows = await db
    .selectFrom("endpoints")
    .select(["id", "secret"])
    .where("id", ">", after)
    .where("removed_at", "is", null)
    .orderBy("id")
    .limit(max)
    .execute();
  return rows.map(({ id, secret }) => ({ table: "endpoints" as const, id, endpointId: id, sealed: secret }));
}

async function formerOnes(db: Pick<Transaction<Schema>, "selectFrom">, after: string, max: number) {
  const rows = await db
    .selectFrom("former_secrets")
    .select(["id", "endpoint_id", "secret"])
    .where("id", ">", after)
    .orderBy("id")
    .limit(max)
    .execute();
  return rows.map(({ id, endpoint_id: endpointId, secret }) => ({
    table: "former_secrets" as const,
    id,
    endpointId,
    sealed: secret,
  }));
}
