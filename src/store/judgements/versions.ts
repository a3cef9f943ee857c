import { createHash } from "node:crypto";
import { type ExpressionBuilder, type Kysely, sql, type Transaction } from "kysely";
import { encodeHarness } from "../../domain/harness.ts";
import { FILE_PLACES } from "../../domain/judgement.ts";
import type { Abilities } from "../database/database.ts";
import { StoreUnavailable } from "../database/errors.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { encodeProgram } from "../submissions/rows.ts";
import type { LazyContent, NewVersion } from "./types.ts";

/** The most contents that one transaction stores, unless a single one is larger: bounds how long other transactions wait. */
const MAX_BYTES = 1_048_576;
const MAX_CONTENTS = 100;
/** The most contents that one transaction deletes, unless a single one is larger. */
const PURGED_AT_ONCE = 100;
const PURGED_BYTES = 4 * 1_048_576;

/** Held by each transaction that adds or deletes contents, so that no content is deleted while another version begins to use it. */
const CONTENTS_LOCK = "contents";

/**
 * A content with its place in the version: 0 for the input of the test, 1 and more for its answers, FILE_PLACES and more for its files. A
 * content can have several places.
 */
interface Placed extends LazyContent {
  readonly test: number;
  readonly place: number;
}

/** How often the service tries to store a version: a purge can delete it meanwhile, because nothing uses it yet. */
const MAX_TRIES = 5;

/**
 * The states of a version. A doomed version is being deleted, and never becomes complete. It has given up its hash, so the same version
 * can be stored anew.
 */
const [DOOMED, INCOMPLETE, COMPLETE] = [-1, 0, 1];

/**
 * Stores a version unless the account has it, in several transactions.
 * @param pause awaited before each part of the work. @returns the sequence number of the version.
 * @throws StoreUnavailable if purges have deleted the version again and again.
 */
export async function putVersion(
  db: Kysely<Schema>,
  transactions: Transactions,
  abilities: Pick<Abilities, "lock">,
  { accountId, definition, checker, grader, harness, contents }: NewVersion,
  now: () => number,
  pause: () => Promise<void>,
): Promise<number> {
  const all: Placed[] = [];
  for (const [test, parts] of contents.entries()) {
    await pause();
    const first = parts.length - (definition.tests[test]?.files?.length ?? 0);
    for (const [at, content] of parts.entries()) {
      const place = at < first ? at : FILE_PLACES + at - first;
      const lazy = Buffer.isBuffer(content)
        ? { hash: sha256(content), bytes: content.length, read: async () => content }
        : content;
      all.push({ test, place, ...lazy });
    }
  }
  const text = JSON.stringify(definition);
  const source = checker && encodeProgram(checker);
  const added = harness ? encodeHarness(harness) : null;
  const places = all.map((one) => [one.test, one.place, one.hash]);
  const grades = grader ? encodeProgram(grader) : null;
  // A version without a harness and a grader has the hash that it had in older releases.
  const parts = [text, source && sha256(source), places, ...(added === null ? [] : [sha256(added)])];
  const hash = sha256(JSON.stringify(grades === null ? parts : [...parts, "grader", sha256(grades)]));
  const row = { account_id: accountId, hash, definition: text, checker: source, harness: added, grader: grades };
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const { seq, complete } = await transactions.run((trx) =>
      trx
        .insertInto("versions")
        .values({ ...row, complete: INCOMPLETE, used_at: now() })
        .onConflict((conflict) => conflict.columns(["account_id", "hash"]).doUpdateSet({ used_at: now() }))
        .returning(["seq", "complete"])
        .executeTakeFirstOrThrow(),
    );
    if (complete === COMPLETE || (await putContents(seq))) return seq;
  }
  throw new StoreUnavailable(`a version was deleted ${MAX_TRIES} times while it was stored`);

  /** Stores the contents of the version, and marks it as complete. @returns false if a purge has begun to delete it. */
  async function putContents(seq: number): Promise<boolean> {
    for (const piece of piecesOf(all)) {
      await pause();
      const loaded = new Map<string, Buffer>();
      for (let missing = await missingOf(db, accountId, piece); ; ) {
        for (const one of missing) {
          const bytes = await one.read();
          if (sha256(bytes) !== one.hash) throw new Error("a content has changed while it was stored");
          loaded.set(one.hash, bytes);
        }
        const left = await transactions.run(async (trx) => {
          await abilities.lock(trx, CONTENTS_LOCK);
          return (await keep(trx, seq, now())) && (await insertContents(trx, accountId, seq, piece, loaded));
        });
        if (!left) return false;
        if (left.length === 0) break;
        missing = left; // a purge has deleted these since they were found
      }
    }
    return await transactions.run((trx) => keep(trx, seq, now(), COMPLETE));
  }
}

/** Renews a version, so that no purge deletes it before a judgement uses it. @returns false if a purge has begun to delete it. */
async function keep(trx: Transaction<Schema>, seq: number, nowMs: number, complete?: number): Promise<boolean> {
  const kept = await trx
    .updateTable("versions")
    .set({ used_at: nowMs, ...(complete !== undefined && { complete }) })
    .where("seq", "=", seq)
    .where("complete", "!=", DOOMED)
    .executeTakeFirst();
  return kept.numUpdatedRows > 0n;
}

/** Renews a version that has all its contents. @returns false if contents are missing, or a purge has begun to delete it. */
export async function keepComplete(trx: Transaction<Schema>, seq: number, nowMs: number): Promise<boolean> {
  const kept = await trx
    .updateTable("versions")
    .set({ used_at: nowMs })
    .where("seq", "=", seq)
    .where("complete", "=", COMPLETE)
    .executeTakeFirst();
  return kept.numUpdatedRows > 0n;
}

/** Those of the contents that the account does not have yet, without repetitions. */
async function missingOf(
  db: Pick<Kysely<Schema>, "selectFrom">,
  accountId: string,
  contents: readonly Placed[],
): Promise<Placed[]> {
  const unique = new Map<string, Placed>();
  // Of equal contents, the first one is kept, so that contents are read in their order.
  for (const one of contents) if (!unique.has(one.hash)) unique.set(one.hash, one);
  for (const hash of (await seqsOf(db, accountId, contents)).keys()) unique.delete(hash);
  return [...unique.values()];
}

async function seqsOf(
  db: Pick<Kysely<Schema>, "selectFrom">,
  accountId: string,
  contents: readonly Placed[],
): Promise<Map<string, number>> {
  const hashes = [...new Set(contents.map(({ hash }) => hash))];
  const rows = await db
    .selectFrom("contents")
    .select(["seq", "hash"])
    .where("account_id", "=", accountId)
    .where("hash", "in", hashes)
    .execute();
  return new Map(rows.map(({ hash, seq }) => [hash, seq]));
}

/**
 * Adds contents to a version, and stores those that the account does not have yet.
 * @param loaded the bytes of loaded contents by hash.
 * @returns the contents that are neither loaded nor stored; if there are any, nothing has changed.
 */
async function insertContents(
  trx: Transaction<Schema>,
  accountId: string,
  versionSeq: number,
  contents: readonly Placed[],
  loaded: ReadonlyMap<string, Buffer>,
): Promise<Placed[]> {
  const missing = await missingOf(trx, accountId, contents);
  const unknown = missing.filter(({ hash }) => !loaded.has(hash));
  if (unknown.length > 0) return unknown;
  if (missing.length > 0)
    await trx
      .insertInto("contents")
      .values(missing.map(({ hash }) => ({ account_id: accountId, hash, bytes: loaded.get(hash) as Buffer })))
      .execute();
  const seqs = await seqsOf(trx, accountId, contents);
  await trx
    .insertInto("version_contents")
    .values(
      contents.map(({ test, place, hash }) => ({
        version_seq: versionSeq,
        test,
        place,
        content_seq: seqs.get(hash) as number,
      })),
    )
    .onConflict((conflict) => conflict.columns(["version_seq", "test", "place"]).doNothing())
    .execute();
  return [];
}

function* piecesOf(contents: readonly Placed[]): Generator<Placed[]> {
  let piece: Placed[] = [];
  let bytes = 0;
  for (const content of contents) {
    if (piece.length > 0 && (bytes + content.bytes > MAX_BYTES || piece.length === MAX_CONTENTS)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(content);
    bytes += content.bytes;
  }
  if (piece.length > 0) yield piece;
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/**
 * Deletes a version that no judgement and no problem uses and that was last used at `beforeMs` or earlier, with the contents that no other
 * version has. A call deletes only a part of a large version; the next calls continue.
 * @param accountId the account of the version; any account if undefined.
 * @returns false if there is no such version.
 */
export async function purgeVersion(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  { beforeMs, accountId }: { readonly beforeMs: number; readonly accountId?: string },
): Promise<boolean> {
  const candidate = await trx
    .selectFrom("versions")
    .select("seq")
    .where("used_at", "<=", beforeMs)
    .where(isUnused)
    .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId ?? ""))
    .orderBy("used_at")
    .limit(1)
    .executeTakeFirst();
  if (!candidate) return false;
  const { seq } = candidate;
  await lock(trx, CONTENTS_LOCK);
  // Locks the row: the next statement then sees a judgement or problem that another transaction has just added.
  await trx
    .updateTable("versions")
    .set((eb) => ({ complete: eb.ref("complete") }))
    .where("seq", "=", seq)
    .execute();
  const doomed = await trx
    .updateTable("versions")
    .set({ complete: DOOMED, hash: `deleted ${seq}` })
    .where("seq", "=", seq)
    .where("used_at", "<=", beforeMs)
    .where(isUnused)
    .executeTakeFirst();
  if (doomed.numUpdatedRows === 0n) return true;
  const found = await trx
    .selectFrom("version_contents")
    .innerJoin("contents", "contents.seq", "content_seq")
    .select(["test", "place", "content_seq", sql<number>`octet_length(contents.bytes)`.as("size")])
    .where("version_seq", "=", seq)
    .orderBy("test")
    .orderBy("place")
    .limit(PURGED_AT_ONCE)
    .execute();
  const contents = found.slice(0, countWithin(found, PURGED_BYTES));
  const last = contents.at(-1);
  if (last) {
    await trx
      .deleteFrom("version_contents")
      .where("version_seq", "=", seq)
      .where(sql<boolean>`(test, place) <= (${last.test}, ${last.place})`)
      .execute();
    const seqs = [...new Set(contents.map(({ content_seq }) => content_seq))];
    await trx
      .deleteFrom("contents")
      .where("seq", "in", seqs)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom("version_contents").select("test").whereRef("content_seq", "=", "contents.seq"))),
      )
      .execute();
  }
  if (contents.length === found.length && found.length < PURGED_AT_ONCE)
    await trx.deleteFrom("versions").where("seq", "=", seq).execute();
  return true;
}

/** How many of the first contents have at most `bytes` together; at least one, if there are any. */
function countWithin(contents: readonly { readonly size: number }[], bytes: number): number {
  let total = 0;
  const beyond = contents.findIndex(({ size }) => {
    total += size;
    return total > bytes;
  });
  return beyond < 0 ? contents.length : Math.max(1, beyond);
}

function isUnused({ and, not, exists, selectFrom }: ExpressionBuilder<Schema, "versions">) {
  return and([
    not(exists(selectFrom("judgements").select("judgements.seq").whereRef("version_seq", "=", "versions.seq"))),
    not(exists(selectFrom("problem_versions").select("number").whereRef("version_seq", "=", "versions.seq"))),
  ]);
}
