import { createHash } from "node:crypto";
import { sql, type Transaction } from "kysely";
import type { Capabilities } from "../engine/engine.ts";
import type { Transactions } from "../engine/transactions.ts";
import type { Schema } from "../schema/schema.ts";
import { encodeProgram } from "../submissions/rows.ts";
import type { NewVersion } from "./types.ts";

/** Contents that one transaction stores: bounds how long others wait for it. */
const MAX_BYTES = 1_048_576;
const MAX_CONTENTS = 100;
const PURGED_AT_ONCE = 100;

/** Held by each transaction that adds or deletes contents, so that none is deleted while another version gets it. */
const CONTENTS_LOCK = "contents";

interface Content {
  readonly test: number;
  readonly place: number;
  readonly hash: string;
  readonly bytes: Buffer;
}

/**
 * Stores a version unless the account has it, in several transactions.
 * @param pause awaited before the work on the next content. @returns its sequence number.
 */
export async function putVersion(
  transactions: Transactions,
  { lock }: Pick<Capabilities, "lock">,
  { accountId, definition, checker, contents }: NewVersion,
  now: () => number,
  pause: () => Promise<void>,
): Promise<number> {
  const all: Content[] = [];
  for (const [test, parts] of contents.entries()) {
    await pause();
    for (const [place, bytes] of parts.entries()) all.push({ test, place, hash: sha256(bytes), bytes });
  }
  const text = JSON.stringify(definition);
  const source = checker && encodeProgram(checker);
  const hash = sha256(
    JSON.stringify([text, source && sha256(source), all.map((one) => [one.test, one.place, one.hash])]),
  );
  const { seq, complete } = await transactions.run((trx) =>
    trx
      .insertInto("versions")
      .values({
        account_id: accountId,
        hash,
        definition: text,
        checker: source,
        complete: 0,
        used_at: now(),
      })
      .onConflict((conflict) => conflict.columns(["account_id", "hash"]).doUpdateSet({ used_at: now() }))
      .returning(["seq", "complete"])
      .executeTakeFirstOrThrow(),
  );
  if (complete === 1) return seq;
  for (const piece of piecesOf(all)) {
    await pause();
    await transactions.run(async (trx) => {
      await lock(trx, CONTENTS_LOCK);
      await insertContents(trx, accountId, seq, piece);
    });
  }
  await transactions.run((trx) => trx.updateTable("versions").set({ complete: 1 }).where("seq", "=", seq).execute());
  return seq;
}

async function insertContents(
  trx: Transaction<Schema>,
  accountId: string,
  versionSeq: number,
  contents: readonly Content[],
): Promise<void> {
  const unique = [...new Map(contents.map((one) => [one.hash, one])).values()];
  await trx
    .insertInto("contents")
    .values(unique.map(({ hash, bytes }) => ({ account_id: accountId, hash, bytes })))
    .onConflict((conflict) => conflict.columns(["account_id", "hash"]).doNothing())
    .execute();
  const rows = await trx
    .selectFrom("contents")
    .select(["seq", "hash"])
    .where("account_id", "=", accountId)
    .where(
      "hash",
      "in",
      unique.map(({ hash }) => hash),
    )
    .execute();
  const seqs = new Map(rows.map(({ hash, seq }) => [hash, seq]));
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
}

function* piecesOf(contents: readonly Content[]): Generator<Content[]> {
  let piece: Content[] = [];
  let bytes = 0;
  for (const content of contents) {
    if (piece.length > 0 && (bytes + content.bytes.length > MAX_BYTES || piece.length === MAX_CONTENTS)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(content);
    bytes += content.bytes.length;
  }
  if (piece.length > 0) yield piece;
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/**
 * Deletes a version that no judgement has and that was last used at that time or before, with the contents that only it has: a
 * part of them in each transaction. @param accountId of any account if undefined.
 * @returns whether there was one.
 */
export async function purgeVersion(
  trx: Transaction<Schema>,
  { lock }: Pick<Capabilities, "lock">,
  { beforeMs, accountId }: { readonly beforeMs: number; readonly accountId?: string },
): Promise<boolean> {
  const unused = trx
    .selectFrom("versions")
    .select("seq")
    .where("used_at", "<=", beforeMs)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("judgements").select("judgements.seq").whereRef("version_seq", "=", "versions.seq"))),
    )
    .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId ?? ""))
    .orderBy("used_at")
    .limit(1);
  // Incomplete from now on: a request that has the same tests in the meantime stores them again.
  const version = await trx
    .updateTable("versions")
    .set({ complete: 0 })
    .where("seq", "in", unused)
    .where("used_at", "<=", beforeMs)
    .returning("seq")
    .executeTakeFirst();
  if (!version) return false;
  await lock(trx, CONTENTS_LOCK);
  const contents = await trx
    .selectFrom("version_contents")
    .select(["test", "place", "content_seq"])
    .where("version_seq", "=", version.seq)
    .orderBy("test")
    .orderBy("place")
    .limit(PURGED_AT_ONCE)
    .execute();
  const last = contents.at(-1);
  if (last) {
    await trx
      .deleteFrom("version_contents")
      .where("version_seq", "=", version.seq)
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
  if (contents.length < PURGED_AT_ONCE) await trx.deleteFrom("versions").where("seq", "=", version.seq).execute();
  return true;
}
