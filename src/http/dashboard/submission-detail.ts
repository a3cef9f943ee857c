import { deliveryView } from "../../admin/deliveries.ts";
import { explain } from "../../domain/explain/explanation.ts";
import { proofs } from "../../domain/explain/proofs.ts";
import { timeline } from "../../domain/explain/timeline.ts";
import { usage } from "../../domain/explain/usage.ts";
import { LongText } from "../../domain/json-pieces.ts";
import { type LongRecord, toLongRecord } from "../../domain/record.ts";
import type { RecordStore } from "../../store/history/records.ts";
import type { FoundSubmission } from "../../store/history/types.ts";
import type { Store } from "../../store/store.ts";
import type { Delivery } from "./api/deliveries.ts";
import type { SubmissionDetail, SubmissionRow } from "./api/submissions.ts";
import { deliveryAnswer } from "./deliveries.ts";

type Read = NonNullable<Awaited<ReturnType<RecordStore["read"]>>>;

/** A project has few endpoints; more deliveries than this are replays. */
const MAX_DELIVERIES = 50;

/** A SubmissionDetail whose long texts are decoded while they are written. */
export interface LongDetail extends Omit<SubmissionDetail, "record" | "code" | "stdin"> {
  readonly record: LongRecord;
  readonly code: LongText;
  readonly stdin: LongText;
}

/** All details of a submission. */
export async function detailOf(store: Store, { found, submission, program, run }: Read): Promise<LongDetail> {
  const record = toLongRecord(submission);
  const course = submission.outcome?.course;
  return {
    row: toRow(found),
    run: run && { judgementId: run.judgementId, test: run.test },
    record,
    code: new LongText(program.code),
    stdin: new LongText(program.stdin),
    attempts: submission.attempts,
    explanation: explain(record, course),
    timeline: timeline(submission, Date.now()),
    usage: usage(record, course),
    proofs: proofs(record.evidence),
    deliveries: await deliveriesOf(store, submission.id),
  };
}

/** The newest deliveries of a submission. */
export async function deliveriesOf(store: Store, submissionId: string): Promise<Delivery[]> {
  const deliveries = await store.deliveries.list({ submissionId, max: MAX_DELIVERIES });
  return deliveries.map((one) => deliveryAnswer(deliveryView(one)));
}

export function toRow({ createdAtMs, startedAtMs, completedAtMs, ...named }: FoundSubmission): SubmissionRow {
  return {
    ...named,
    createdAt: new Date(createdAtMs).toISOString(),
    startedAt: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    completedAt: completedAtMs === null ? null : new Date(completedAtMs).toISOString(),
  };
}
