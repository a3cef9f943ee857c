import { randomUUID } from "node:crypto";
import { clientError } from "../domain/error.ts";
import type { Caller } from "../domain/submission.ts";
import { accept, type How, queueFull } from "./accept.ts";
import { toFields } from "./additions.ts";
import type { Dependencies } from "./dependencies.ts";
import { toJudgementRequest } from "./judgement-request.ts";
import type { LongAnswers } from "./long-answers.ts";
import { countRequests } from "./rate-limit.ts";
import { toSubmitRequest } from "./request.ts";

/** The key to which the runs are charged, and the owner of the request. */
export interface Judging extends Pick<How, "key" | "revoked"> {
  readonly caller: Caller;
  readonly owner: string;
}

/**
 * Stores the tests, then the judgement with its first run. The caller then releases the body: a request can wait for half a minute.
 * @returns its id, or that of an earlier one with the same key.
 */
export async function addJudgement(
  body: unknown,
  { caller, owner, ...how }: Judging,
  dependencies: Dependencies,
  answers: LongAnswers,
): Promise<string> {
  const { accountId } = caller;
  const pause = () => answers.pace.turn(owner);
  const judged = await toJudgementRequest(body, caller, dependencies, pause);
  const { program, definition, checker, contents, stop } = judged;
  if (program.refusal && how.key === undefined) throw program.refusal;
  await countTests(caller, contents.length, dependencies);
  // Before its tests are stored.
  if ((await dependencies.store.submissions.depth()) >= dependencies.maxPending) throw queueFull();
  const version = { accountId, definition, checker, contents };
  const versionSeq = await dependencies.store.judgements.putVersion(version, pause);
  const judgement = { id: randomUUID(), stop, versionSeq, tests: definition.tests.length };
  const accepted = await accept(program, caller, dependencies, { ...how, judgement });
  if (accepted.kind === "enqueued") return judgement.id;
  // The same key for a single submission has another hash.
  if (accepted.judgementId === null) throw clientError("idempotencyConflict", []);
  return accepted.judgementId;
}

/** Judges the same program on the same tests again. @returns the new id; undefined if the account has no such judgement. */
export async function rejudge(
  id: string,
  { caller, revoked }: Pick<Judging, "caller" | "revoked">,
  dependencies: Dependencies,
): Promise<string | undefined> {
  const again = await dependencies.store.judgements.readForRejudge(id, caller.accountId);
  if (!again) return undefined;
  const { program, versionSeq, stop, tests, language, profile } = again;
  // The key may have other permissions than that of the first judgement.
  const valid = toSubmitRequest({ ...toFields(program), language, profile }, caller, dependencies);
  const judgement = { id: randomUUID(), stop, versionSeq, tests };
  await countTests(caller, tests, dependencies);
  await accept(valid, caller, dependencies, { judgement, ...(revoked && { revoked }) });
  return judgement.id;
}

/** Tests count against the rate limit: as many as this like one request, the first of which has been counted. */
const TESTS_PER_REQUEST = 50;

/** @throws ClientError quotaExceeded. */
async function countTests(caller: Caller, tests: number, dependencies: Dependencies): Promise<void> {
  await countRequests(caller, dependencies, { amount: Math.ceil(tests / TESTS_PER_REQUEST) - 1 });
}
