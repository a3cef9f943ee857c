import { createHash } from "node:crypto";
import { type Selectable, sql, type Transaction } from "kysely";
import { SIGN_IN_ACTIONS } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";

const WINDOW_MS = 60_000;
/** The most by which clocks of machines differ; a time that is further ahead means that a clock was set back. */
const SKEW_MS = 5_000;
const HOUR_MS = 3_600_000;
/** How long a network counts as known after a sign-in. */
const KNOWN_MS = 90 * 24 * HOUR_MS;
/** How long audit entries of sign-ins are kept; all other audit entries are kept without limit. */
const SIGN_IN_ENTRIES_MS = 90 * 24 * HOUR_MS;
/** How many networks get an audit entry of their own for refused attempts for one person in an hour. All others share an entry. */
const NETWORKS_PER_HOUR = 10;
/** The most audit entries that one transaction deletes. */
const FORGOTTEN_AT_ONCE = 500;

export type SignInStore = ReturnType<typeof signInStore>;

/**
 * Counts sign-in attempts, over all processes. Transactions that count or store attempts are serialised, so that the limits
 * are exact.
 * @param now milliseconds since the epoch.
 */
export function signInStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  const locked = <T>(work: (trx: Transaction<Schema>) => Promise<T>) =>
    // A power failure may lose the counts of the last attempts; in return, requests do not wait for the disk.
    transactions.runUnflushed(async (trx) => {
      await abilities.lock(trx, "sign-ins");
      return await work(trx);
    });

  return {
    /** Whether the person with this e-mail has signed in from this network in the last 90 days. The read takes no lock. */
    async isKnown({ network, email }: { readonly network: string; readonly email: string }): Promise<boolean> {
      const known = await db
        .selectFrom("known_places")
        .innerJoin("people", "people.id", "known_places.person_id")
        .select("people.id")
        .where("people.email", "=", email)
        .where("known_places.place", "=", network)
        .where("known_places.at", ">", now() - KNOWN_MS)
        .executeTakeFirst();
      return known !== undefined;
    },

    /**
     * Counts an attempt, unless there were too many in the last minute.
     * @param limits.both the most attempts in a minute with this e-mail from this network.
     * @param limits.network the most attempts in a minute from this network, with any e-mail.
     * @param limits.email the most attempts in a minute with this e-mail, from any network. Null for no limit, on a known network of the
     * person: strangers can use this limit up, and must not lock the person out by this.
     * @returns 0 if the attempt was counted, otherwise the seconds until the next attempt is allowed.
     */
    take(
      { network, email }: { readonly network: string; readonly email: string },
      limits: { readonly both: number; readonly network: number; readonly email: number | null },
    ): Promise<number> {
      return locked(async (trx) => {
        const atMs = now();
        const emailHash = createHash("sha256").update(email).digest("hex");
        const bounds = [
          [limits.both, { network, emailHash }],
          [limits.network, { network }],
          ...(limits.email === null ? [] : ([[limits.email, { emailHash }]] as const)),
        ] as const;
        for (const [limit, whose] of bounds) {
          const waitMs = await waitFor(trx, whose, limit, atMs);
          if (waitMs > 0) return Math.ceil(waitMs / 1000);
        }
        await trx.insertInto("sign_in_attempts").values({ at: atMs, place: network, email_hash: emailHash }).execute();
        return 0;
      });
    },

    /**
     * Adds a refused attempt to an audit entry of the last hour, or adds an entry. For one person, each of the first ten networks has an
     * entry, and all other networks share one. All unknown e-mails count as one person, `unknown`.
     */
    refused({ network, email }: { readonly network: string; readonly email: string }): Promise<void> {
      return locked(async (trx) => {
        const atMs = now();
        const person = await trx.selectFrom("people").select("id").where("email", "=", email).executeTakeFirst();
        // Input of unknown clients is not stored, because it may be a password.
        const subject = person?.id ?? "unknown";
        const recent = await trx
          .selectFrom("audit")
          .selectAll()
          .where("subject", "=", subject)
          .where("action", "=", "person.refuse")
          .where("at", ">", atMs - HOUR_MS)
          .orderBy("seq", "desc")
          .execute();
        const address =
          recent.length < NETWORKS_PER_HOUR || recent.some((entry) => entry.address === network) ? network : null;
        const known = recent.find((entry) => entry.address === address);
        if (known) await recordAttempt(trx, known, atMs);
        else {
          const detail = { attempts: 1, lastAt: new Date(atMs) };
          const entry = { subject, accountId: null, address, detail };
          await addAuditEntry(trx, { atMs, actor: "stranger", action: "person.refuse", ...entry });
        }
      });
    },

    /**
     * Removes attempts that no longer count, networks that are no longer known, and old audit entries of sign-ins. To be called
     * periodically.
     */
    async forget(): Promise<void> {
      const atMs = now();
      await transactions.runUnflushed(async (trx) => {
        await trx
          .deleteFrom("sign_in_attempts")
          .where((eb) => eb.or([eb("at", "<=", atMs - WINDOW_MS), eb("at", ">", atMs + SKEW_MS)]))
          .execute();
        await trx
          .deleteFrom("known_places")
          .where("at", "<=", atMs - KNOWN_MS)
          .execute();
        const old = trx
          .selectFrom("audit")
          .select("seq")
          // A literal, because the planner cannot use a partial index with a parameter.
          .where(sql<boolean>`action in (${sql.join(SIGN_IN_ACTIONS.map((action) => sql.lit(action)))})`)
          .where("at", "<=", atMs - SIGN_IN_ENTRIES_MS)
          .limit(FORGOTTEN_AT_ONCE);
        await trx.deleteFrom("audit").where("seq", "in", old).execute();
      });
    },
  };
}

/** @returns the milliseconds until fewer than `limit` attempts are in the window; 0 if there are fewer now. */
async function waitFor(
  trx: Transaction<Schema>,
  { network, emailHash }: { readonly network?: string; readonly emailHash?: string },
  limit: number,
  atMs: number,
): Promise<number> {
  let query = trx
    .selectFrom("sign_in_attempts")
    .select("at")
    .where("at", ">", atMs - WINDOW_MS)
    .where("at", "<=", atMs + SKEW_MS);
  if (network !== undefined) query = query.where("place", "=", network);
  if (emailHash !== undefined) query = query.where("email_hash", "=", emailHash);
  const oldest = await query
    .orderBy("at", "desc")
    .limit(1)
    .offset(limit - 1)
    .executeTakeFirst();
  return oldest === undefined ? 0 : oldest.at + WINDOW_MS - atMs;
}

async function recordAttempt(
  trx: Transaction<Schema>,
  { seq, detail }: Selectable<Schema["audit"]>,
  atMs: number,
): Promise<void> {
  const { attempts } = JSON.parse(detail) as { attempts: number };
  const next = JSON.stringify({ attempts: attempts + 1, lastAt: new Date(atMs) });
  await trx.updateTable("audit").set({ detail: next }).where("seq", "=", seq).execute();
}
