import type { Selectable, Transaction } from "kysely";
import { judge0StatusOf } from "../../domain/judge0/status.ts";
import type { Judge0Request, Judge0Settings, Repeats } from "../../domain/judge0/submission.ts";
import type { Row, Schema } from "../database/schema.ts";
import { insertDelivery } from "../deliveries/outbox.ts";
import type { Ending } from "../submissions/outcomes.ts";

/** The mark of a submission that runs several times: only for such submissions, a claim reads the number of runs. */
const SEVERAL_RUNS = 2;

/** The value of `submissions.judge0`: null unless the submission came through the Judge0 API. */
export function markOf(judge0: Judge0Request | undefined): number | null {
  if (!judge0) return null;
  return judge0.settings.number_of_runs > 1 ? SEVERAL_RUNS : 1;
}

/** Adds the Judge0 part of accepted submissions, whose sequence numbers are `seq`. */
export async function insertJudge0(
  trx: Transaction<Schema>,
  accepted: readonly { readonly seq: number; readonly accountId: string; readonly judge0: Judge0Request }[],
): Promise<void> {
  if (accepted.length === 0) return;
  const rows = accepted.map(({ seq, accountId, judge0 }) => ({
    submission_seq: seq,
    account_id: accountId,
    language_id: judge0.languageId,
    expected_output: judge0.expectedOutput,
    additional_files: judge0.additionalFiles,
    settings: JSON.stringify(judge0.settings),
    callback_url: judge0.callback?.url ?? null,
    endpoint_id: judge0.callback?.endpointId ?? null,
    status: null,
    compile_output: null,
  }));
  await trx.insertInto("judge0_submissions").values(rows).execute();
}

/** For claimed submissions that run several times, the number of runs, by sequence number. If there are none, nothing is read. */
export async function readRepeats(
  trx: Transaction<Schema>,
  claimed: readonly Pick<Row<"submissions">, "seq" | "judge0">[],
): Promise<Map<number, Repeats>> {
  const seqs = claimed.filter(({ judge0 }) => judge0 === SEVERAL_RUNS).map(({ seq }) => seq);
  if (seqs.length === 0) return new Map();
  const rows = await trx
    .selectFrom("judge0_submissions")
    .select(["submission_seq", "settings", "expected_output"])
    .where("submission_seq", "in", seqs)
    .execute();
  return new Map(
    rows.map(({ submission_seq: seq, settings, expected_output: expected }) => {
      const { number_of_runs: runs } = JSON.parse(settings) as Judge0Settings;
      return [seq, { runs, expected }];
    }),
  );
}

/**
 * Stores the Judge0 status of ended submissions, so that their output is compared only once, and adds their callbacks. The transaction
 * that ends the submissions calls it.
 * @returns whether a callback was added.
 */
export async function endJudge0(trx: Transaction<Schema>, ended: readonly Ending[], nowMs: number): Promise<boolean> {
  const judge0Endings = new Map(ended.filter(({ row }) => row.judge0 !== null).map((one) => [one.row.seq, one]));
  if (judge0Endings.size === 0) return false;
  const rows = await trx
    .selectFrom("judge0_submissions")
    .select(["submission_seq", "expected_output", "endpoint_id"])
    .where("submission_seq", "in", [...judge0Endings.keys()])
    .orderBy("submission_seq")
    .execute();
  let calls = false;
  for (const { submission_seq: seq, expected_output: expected, endpoint_id } of rows) {
    const { outcome, row } = judge0Endings.get(seq) as Ending;
    await trx
      .updateTable("judge0_submissions")
      .set({ status: judge0StatusOf(outcome, expected), compile_output: outcome.compileOutput ?? null })
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
    .selectFrom("judge0_submissions")
    .select(["submission_seq", "callback_url"])
    .where("submission_seq", "in", seqs)
    .execute();
  return new Map(rows.flatMap(({ submission_seq: seq, callback_url: url }) => (url === null ? [] : [[seq, url]])));
}
