import { type NetworkPolicy, parseNetworkPolicy, whyNotNarrower } from "../../domain/egress/policy.ts";
import { ClientError, clientError, type ErrorCode } from "../../domain/error.ts";
import type { ForeignRequest } from "../../domain/foreign-api.ts";
import { NO_METER } from "../../domain/meter.ts";
import {
  type Caller,
  newSubmission,
  programOf,
  requestHash,
  type Submission,
  type SubmitRequest,
} from "../../domain/submission.ts";
import type { NewJudgement } from "../../store/judgements/types.ts";
import type { Enqueued } from "../../store/submissions/types.ts";
import { countRequests } from "../access/rate-limit.ts";
import type { Dependencies } from "../dependencies.ts";
import type { ValidatedRequest } from "./submit-request.ts";

/** A client should repeat its request after this time. A full queue of short programs usually has space again by then. */
const FULL_RETRY_SECS = 1;

/** A submission that this request added, or an earlier request with the same idempotency key. */
export type Accepted = Extract<Enqueued, { submission: Submission }>;

export interface AcceptOptions {
  /** The idempotency key of the request. */
  readonly key?: string | undefined;
  /** Whether the output can be watched while the program runs. */
  readonly live?: boolean;
  /** Whether the client can also send input to the program while it runs. */
  readonly takesInput?: boolean;
  /** Id of the submission that the new one repeats. */
  readonly originalId?: string | undefined;
  /** The submission is the first run of this judgement. */
  readonly judgement?: NewJudgement;
  /** Set if the request came from a client of another service's API. */
  readonly foreign?: ForeignRequest;
  /** The problem and version that the request names, by which a repeated request is recognised; undefined for a request with tests. */
  readonly judgedOn?: string | undefined;
  /** The error if the key was revoked or expired after its authentication; by default `unauthorized`. */
  readonly revoked?: Extract<ErrorCode, "unauthorized" | "playgroundClosed">;
}

/** The tests of a judgement were deleted as unused before the judgement was accepted. */
export class VersionGone extends Error {
  override readonly name = "VersionGone";
}

/**
 * Adds a submission to the queue, and its judgement if it is the first run of one. The caller has counted it against the rate limit as one
 * request; this function counts the further runs of a submission that asks for several.
 * @throws ClientError if the submission is not accepted. @throws VersionGone if the tests of the judgement have been deleted.
 */
export async function accept(
  { submit, refusal: unavailable, networkJson }: ValidatedRequest,
  caller: Caller,
  {
    store,
    sandboxes,
    maxPending,
    meter = NO_METER,
  }: Pick<Dependencies, "store" | "sandboxes" | "maxPending" | "meter">,
  {
    key,
    live = false,
    takesInput = false,
    originalId,
    judgement,
    foreign,
    judgedOn,
    revoked = "unauthorized",
  }: AcceptOptions = {},
): Promise<Accepted> {
  const network = submit.network && (await withinBound(networkJson, caller, { store, sandboxes }));
  const refusal = unavailable ?? (network instanceof ClientError ? network : null);
  if (refusal && key === undefined) throw refusal;
  const { runs = 1 } = submit.options ?? {};
  if (runs > 1 && (live || takesInput))
    throw clientError("invalidRequest", ["runs", "more than one while it is watched"]);
  const request = {
    submission: newSubmission(submit, caller, Date.now()),
    program: programOf(submit),
    idempotency: key === undefined ? null : { key, requestHash: hashOf(submit, takesInput, judgement, judgedOn) },
    maxPending,
    onlyKnown: refusal !== null,
    live,
    takesInput,
    originalId,
    ...(judgement && { judgement }),
    ...(foreign && { foreign }),
    ...(network && !(network instanceof ClientError) && { network }),
  };
  // A repeated request runs nothing, so its runs do not count.
  const known =
    key !== undefined && runs > 1 ? await store.submissions.enqueue({ ...request, onlyKnown: true }) : undefined;
  const isNew = known === undefined || (known.kind === "unknown" && refusal === null);
  if (isNew) await countRequests(caller, { store }, { amount: runs - 1, counted: 1 });
  const result = isNew ? await store.submissions.enqueue(request) : known;
  if (result.kind === "unknown") throw refusal ?? new Error("a new submission was not accepted");
  if (result.kind === "revoked") throw clientError(revoked, []);
  if (result.kind === "suspended") throw clientError("accountSuspended", []);
  if (result.kind === "conflict") throw clientError("idempotencyConflict", []);
  if (result.kind === "full") throw queueFull();
  if (result.kind === "versionGone") throw new VersionGone();
  const { language, profile } = result.submission;
  if (result.kind === "enqueued") meter.count("accepted", { language, profile });
  return result;
}

/**
 * The network policy with which a program is accepted: a budget that its request does not state is at most that of the bound.
 * @returns an error if the policy is beyond the bound, or no machine can give a program a network.
 */
async function withinBound(
  json: unknown,
  { accountId, projectId }: Caller,
  { store, sandboxes }: Pick<Dependencies, "store" | "sandboxes">,
): Promise<NetworkPolicy | ClientError> {
  if (!sandboxes.capacity?.network) return clientError("networkOff", []);
  const { policy: upper } = await store.egress.bound(accountId, projectId);
  const policy = parseNetworkPolicy(json, upper);
  const why = whyNotNarrower(upper, policy);
  return why === null ? policy : clientError("networkForbidden", [why]);
}

export function queueFull(): Error {
  return clientError("queueFull", [], { headers: { "retry-after": String(FULL_RETRY_SECS) } });
}

/** A repeated request with tests has the same `versionSeq`, because equal tests are stored once. */
function hashOf(
  submit: SubmitRequest,
  takesInput: boolean,
  judgement: NewJudgement | undefined,
  judgedOn?: string,
): string {
  const hash = requestHash(submit);
  if (takesInput) return `${hash} live input`;
  return judgement ? `${hash} ${judgedOn ?? judgement.versionSeq} ${judgement.stop}` : hash;
}
