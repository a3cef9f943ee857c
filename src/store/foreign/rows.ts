import type { Selectable, Transaction } from "kysely";
import type { ForeignRequest } from "../../domain/foreign-api.ts";
import type { Schema } from "../database/schema.ts";
import { insertDelivery } from "../deliveries/outbox.ts";
import type { Ending } from "../submissions/outcomes.ts";

/** Adds what clients of other services' APIs have sent with accepted submissions, whose sequence numbers are `seq`. */
export async function insertForeign(
  trx: Transaction<Schema>,
  accepted: readonly { readonly seq: number; readonly accountId: string; readonly foreign: ForeignRequest }[],
): Promise<void> {
  if (accepted.length === 0) return;
  const rows = accepted.map(({ seq, accountId, foreign }) => ({
    submission_seq: seq,
    account_id: accountId,
    api: foreign.api,
    category: foreign.category,
    data: foreign.data,
    reference: foreign.reference,
    attachment: foreign.attachment,
    callback_url: foreign.callback?.url ?? null,
    endpoint_id: foreign.callback?.endpointId ?? null,
    note: null,
    compile_output: null,
  }));
  await trx.insertInto("foreign_submissions").values(rows).execute();
}

/**
 * Stores the notes of ended submissions, and adds their callbacks. The transaction that ends the submissions calls it.
 * @returns whether a callback was added.
 */
export async function endForeign(trx: Transaction<Schema>, ended: readonly Ending[], nowMs: number): Promise<boolean> {
  // A worker notes something for each submission that came through such an API. Submissions that end without a worker have no note, and
  // may have a callback.
  const endings = new Map(
    ended
      .filter(({ outcome }) => outcome.foreignNote !== undefined || outcome.status === "error")
      .map((one) => [one.row.seq, one]),
  );
  if (endings.size === 0) return false;
  const rows = await trx
    .selectFrom("foreign_submissions")
    .select(["submission_seq", "endpoint_id"])
    .where("submission_seq", "in", [...endings.keys()])
    .orderBy("submission_seq")
    .execute();
  let calls = false;
  for (const { submission_seq: seq, endpoint_id } of rows) {
    const { outcome, row } = endings.get(seq) as Ending;
    if (outcome.foreignNote !== undefined)
      await trx
        .updateTable("foreign_submissions")
        // Processes of an older release, which send callbacks, find the output of the compiler here.
        .set({ note: outcome.foreignNote, compile_output: outcome.compileOutput ?? null })
        .where("submission_seq", "=", seq)
        .execute();
    if (endpoint_id === null) continue;
    calls = true;
    const delivery = { endpoint_id, submission_seq: seq, message_id: row.id, kind: "result", body: null } as const;
    await insertDelivery(trx, { ...delivery, callback: 1, created_at: nowMs });
  }
  return calls;
}

/** The URLs of those deliveries that are callbacks, by the sequence number of the submission. If there are none, nothing is read. */
export async function callbackUrls(
  trx: Transaction<Schema>,
  taken: readonly Pick<Selectable<Schema["deliveries"]>, "callback" | "submission_seq">[],
): Promise<Map<number, string>> {
  const seqs = taken.flatMap(({ callback, submission_seq: seq }) => (callback === 1 && seq !== null ? [seq] : []));
  if (seqs.length === 0) return new Map();
  const rows = await trx
    .selectFrom("foreign_submissions")
    .select(["submission_seq", "callback_url"])
    .where("submission_seq", "in", seqs)
    .execute();
  return new Map(rows.flatMap(({ submission_seq: seq, callback_url: url }) => (url === null ? [] : [[seq, url]])));
}
