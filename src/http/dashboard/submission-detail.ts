import { deliveryView, printable } from "../../admin/deliveries.ts";
import { explain } from "../../domain/explain/explanation.ts";
import { proofs } from "../../domain/explain/proofs.ts";
import { timeline } from "../../domain/explain/timeline.ts";
import { usage } from "../../domain/explain/usage.ts";
import { toRecord } from "../../domain/record.ts";
import type { FoundSubmission, RecordStore } from "../../store/observe-port.ts";
import type { Store, Delivery as StoredDelivery } from "../../store/port.ts";
import type { Delivery, SubmissionDetail, SubmissionRow } from "./answers.ts";

type Read = NonNullable<Awaited<ReturnType<RecordStore["read"]>>>;

/** A project has few endpoints; more than this are replays. */
const MAX_DELIVERIES = 50;

/** Everything that there is to see of a submission. */
export async function detailOf(store: Store, { found, submission, program }: Read): Promise<SubmissionDetail> {
  const record = toRecord(submission);
  const course = submission.outcome?.course;
  const deliveries = await store.deliveries.list({ submissionId: submission.id, max: MAX_DELIVERIES });
  return {
    row: toRow(found),
    record,
    code: program.code.toString("utf8"),
    stdin: program.stdin.toString("utf8"),
    attempts: submission.attempts,
    explanation: explain(record, course),
    timeline: timeline(submission, Date.now()),
    usage: usage(record, course),
    proofs: proofs(record.evidence),
    deliveries: deliveries.map(toDelivery),
  };
}

export function toRow({ createdAtMs, startedAtMs, completedAtMs, ...named }: FoundSubmission): SubmissionRow {
  return {
    ...named,
    createdAt: new Date(createdAtMs).toISOString(),
    startedAt: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    completedAt: completedAtMs === null ? null : new Date(completedAtMs).toISOString(),
  };
}

function toDelivery(stored: StoredDelivery): Delivery {
  const { endpoint: endpointId, submission: submissionId, attempts, ...view } = deliveryView(stored);
  const printed = attempts.map((attempt) => ({ ...attempt, answer: attempt.answer && printable(attempt.answer) }));
  return { ...view, endpointId, submissionId, attempts: printed };
}
