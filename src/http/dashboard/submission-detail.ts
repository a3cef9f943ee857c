import { isUtf8 } from "node:buffer";
import { deliveryView } from "../../admin/deliveries.ts";
import { explain } from "../../domain/explain/explanation.ts";
import { proofs } from "../../domain/explain/proofs.ts";
import { timeline } from "../../domain/explain/timeline.ts";
import { cutStreams, usage } from "../../domain/explain/usage.ts";
import { LongText } from "../../domain/json-pieces.ts";
import { type LongRecord, toLongRecord } from "../../domain/record.ts";
import type { WorkFile } from "../../domain/report.ts";
import type { Program } from "../../domain/submission.ts";
import type { Languages } from "../../languages/load.ts";
import type { FoundSubmission, ReadSubmission } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import type { DeliveryResource } from "./api/deliveries.ts";
import type { SubmissionDetail, SubmissionRow } from "./api/submissions.ts";
import { deliveryAnswer } from "./deliveries.ts";

const MAX_DELIVERIES = 50;

/** A SubmissionDetail whose long texts are decoded while the response is written. */
export interface LongDetail extends Omit<SubmissionDetail, "record" | "code" | "stdin"> {
  readonly record: LongRecord;
  readonly code: LongText;
  readonly stdin: LongText;
}

/** All details of a submission. */
export async function detailOf(
  { store, languages }: { readonly store: Store; readonly languages: Languages },
  { found, submission, program, run, isFollowable, originalId, samples }: ReadSubmission,
): Promise<LongDetail> {
  const record = toLongRecord(submission);
  const runStats = submission.outcome?.runStats;
  return {
    row: toRow(found),
    run: run && { judgementId: run.judgementId, test: run.test },
    originalId,
    live: isFollowable,
    record,
    source: sourceName(program, found.language, languages),
    code: new LongText(sourceOf(program)),
    stdin: new LongText(program.stdin),
    files: otherFiles(program).map(({ name, data }) => ({
      path: name,
      bytes: data.length,
      isText: isUtf8(data) && !data.includes(0),
    })),
    attempts: submission.attempts,
    explanation: explain(record, runStats),
    timeline: timeline(submission, Date.now()),
    usage: usage(record, runStats),
    samples,
    cut: cutStreams(record.output.integrity, runStats),
    proofs: proofs(record.evidence),
    deliveries: await deliveriesOf(store, submission.id),
  };
}

/** The newest deliveries of a submission. A project has few endpoints, so only replays can make more than MAX_DELIVERIES. */
export async function deliveriesOf(store: Store, submissionId: string): Promise<DeliveryResource[]> {
  const found = await store.deliveries.list({ submissionId, max: MAX_DELIVERIES });
  return found.map((one) => deliveryAnswer(deliveryView(one)));
}

/** The content of the file that is compiled or run. */
export function sourceOf({ code, options }: Program): Buffer {
  const { entry = null, files = [] } = options ?? {};
  return entry === null ? code : (files.find(({ name }) => name === entry)?.data ?? code);
}

/** The files of the program, sorted by path, without the one that is compiled or run. */
export function otherFiles({ options }: Program): readonly WorkFile[] {
  const { entry = null, files = [] } = options ?? {};
  return files.filter(({ name }) => name !== entry).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The path in /box of the file that is compiled or run, as messages of compilers name it. If the language has been removed, its name. */
export function sourceName({ options }: Program, language: string, languages: Languages): string {
  return options?.entry ?? languages.resolve(language)?.source ?? language;
}

export function toRow({ createdAtMs, startedAtMs, completedAtMs, ...named }: FoundSubmission): SubmissionRow {
  return {
    ...named,
    createdAt: new Date(createdAtMs).toISOString(),
    startedAt: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    completedAt: completedAtMs === null ? null : new Date(completedAtMs).toISOString(),
  };
}
