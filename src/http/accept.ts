import { clientError } from "../domain/error.ts";
import { NO_METER } from "../domain/meter.ts";
import { type Caller, newSubmission, programOf, requestHash, type Submission } from "../domain/submission.ts";
import type { Enqueued } from "../store/port.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Asked } from "./request.ts";

/** A full queue of short programs has room again within this. */
const FULL_RETRY_SECS = 1;

/** Accepted now, or before under the same idempotency key. */
export type Accepted = Extract<Enqueued, { submission: Submission }>;

/**
 * Puts what was asked for into the queue. @param how.key an idempotency key. @param how.live somebody may watch it run.
 * @throws ClientError when it is not accepted.
 */
export async function accept(
  { submit, refusal }: Asked,
  caller: Caller,
  { store, maxPending, meter = NO_METER }: Pick<Dependencies, "store" | "maxPending" | "meter">,
  { key, live = false }: { readonly key?: string | undefined; readonly live?: boolean } = {},
): Promise<Accepted> {
  if (refusal && key === undefined) throw refusal;
  const result = await store.submissions.enqueue({
    submission: newSubmission(submit, caller, Date.now()),
    program: programOf(submit),
    idempotency: key === undefined ? null : { key, requestHash: requestHash(submit) },
    maxPending,
    onlyKnown: refusal !== null,
    live,
  });
  if (result.kind === "unknown") throw refusal ?? new Error("what was new was not accepted");
  if (result.kind === "conflict") throw clientError("idempotencyConflict", []);
  if (result.kind === "full")
    throw clientError("queueFull", [], { headers: { "retry-after": String(FULL_RETRY_SECS) } });
  const { language, profile } = result.submission;
  if (result.kind === "enqueued") meter.count("accepted", { language, profile });
  return result;
}
