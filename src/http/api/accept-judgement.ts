import { randomUUID } from "node:crypto";
import { clientError } from "../../domain/error.ts";
import { mostRuns } from "../../domain/judgement.ts";
import type { Caller } from "../../domain/submission.ts";
import type { NewJudgement } from "../../store/judgements/types.ts";
import { countRequests } from "../access/rate-limit.ts";
import type { Dependencies } from "../dependencies.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { type AcceptOptions, accept, queueFull, VersionGone } from "./accept.ts";
import { checkProblem, toJudgedProgram, toJudgementRequest } from "./judgement-request.ts";
import { toFields } from "./program-options.ts";
import type { ValidatedRequest } from "./submit-request.ts";

/** Who requests a judgement. */
export interface Judging extends Pick<AcceptOptions, "key" | "revoked"> {
  /** The API key to which the runs are charged. */
  readonly caller: Caller;
  /** The owner of the request, see ownerOf(). */
  readonly owner: string;
}

/**
 * Stores the tests, unless they are those of a problem, then the judgement with its first run. After that, the route should release
 * the body of the request, because the client may wait for half a minute.
 * @returns the id of the judgement, or of the earlier judgement with the same idempotency key.
 */
export async function addJudgement(
  body: unknown,
  { caller, owner, ...how }: Judging,
  dependencies: Dependencies,
  answers: LongAnswers,
): Promise<string> {
  const pause = () => answers.eventLoop.turn(owner);
  const { program, stop, on } = await toJudgementRequest(body, caller, dependencies, pause);
  if (program.refusal && how.key === undefined) throw program.refusal;
  const { judgements, submissions } = dependencies.store;
  const put = async (): Promise<JudgementInput> => {
    if ("problem" in on) return await versionOf(on, program, caller, dependencies);
    const versionSeq = await judgements.putVersion({ accountId: caller.accountId, ...on }, pause);
    return { versionSeq, tests: on.contents.length, problem: null, runs: mostRuns(on.definition) };
  };
  if ("problem" in on) await countWork(caller, { runs: (await put()).runs, bytes: 0 }, dependencies);
  else await countWork(caller, { runs: mostRuns(on.definition), bytes: bytesOf(on.contents) }, dependencies);
  // The queue is checked first, so that a full queue refuses the request before its tests are stored.
  if ((await submissions.depth()) >= dependencies.maxPending) throw queueFull();
  // By this text, a repeated request is recognised even if the problem has another current version by then.
  const judgedOn = "problem" in on ? `${on.problem} ${on.version ?? "current"}` : undefined;
  for (let tries = 1; ; tries++) {
    const { runs: _, ...version } = await put();
    const judgement = { id: randomUUID(), stop, ...version };
    try {
      const accepted = await accept(program, caller, dependencies, { ...how, judgement, judgedOn });
      if (accepted.kind === "enqueued") return judgement.id;
      // This is not expected: a request for a single submission with the same idempotency key has another hash, so it is a conflict.
      if (accepted.judgementId === null) throw clientError("idempotencyConflict", []);
      return accepted.judgementId;
    } catch (error) {
      if (!(error instanceof VersionGone) || tries === MAX_TRIES) throw error;
    }
  }
}

/** The tests of a new judgement, and the most runs that they need. */
interface JudgementInput extends Omit<NewJudgement, "id" | "stop"> {
  readonly runs: number;
}

/** Unused tests can be deleted between the call of put() and that of accept(), for example when the account is erased. */
const MAX_TRIES = 3;

/** @throws ClientError problemNotFound, and invalidRequest if the program or the ceilings do not agree with what the problem states. */
async function versionOf(
  { problem: id, version }: { readonly problem: string; readonly version: number | undefined },
  program: ValidatedRequest,
  { accountId }: Caller,
  dependencies: Dependencies,
): Promise<JudgementInput> {
  const found = await dependencies.store.problems.versionFor(id, accountId, version);
  if (!found) throw clientError("problemNotFound", []);
  const { versionSeq, number, definition } = found;
  checkProblem(definition, program, dependencies);
  const problem = { id, version: number };
  return { versionSeq, tests: definition.tests.length, problem, runs: mostRuns(definition) };
}

/**
 * Judges the program of a judgement again, on the same tests.
 * @returns the id of the new judgement; undefined if the account has no judgement `id`, or its tests have been deleted.
 */
export async function rejudge(
  id: string,
  { caller, revoked }: Pick<Judging, "caller" | "revoked">,
  dependencies: Dependencies,
): Promise<string | undefined> {
  const rejudged = await dependencies.store.judgements.readForRejudge(id, caller.accountId);
  if (!rejudged) return undefined;
  const { program, versionSeq, stop, tests, definition, language, profile, problem } = rejudged;
  // The key may have other permissions than the key of the first judgement.
  const valid = toJudgedProgram({ ...toFields(program), language, profile }, caller, dependencies);
  checkProblem(definition, valid, dependencies);
  const judgement = { id: randomUUID(), stop, versionSeq, tests, problem };
  await countWork(caller, { runs: mostRuns(definition), bytes: 0 }, dependencies);
  try {
    await accept(valid, caller, dependencies, { judgement, ...(revoked && { revoked }) });
  } catch (error) {
    if (error instanceof VersionGone) return undefined;
    throw error;
  }
  return judgement.id;
}

/**
 * How many runs, and how many bytes of tests, count against the rate limit like one request. The request itself has been counted when
 * it arrived, so the first RUNS_PER_REQUEST runs and the first BYTES_PER_REQUEST bytes add nothing.
 */
const RUNS_PER_REQUEST = 50;
const BYTES_PER_REQUEST = 16_777_216;

/** @param work.bytes the size of the tests in the request. @throws ClientError quotaExceeded. */
async function countWork(
  caller: Caller,
  work: { readonly runs: number; readonly bytes: number },
  dependencies: Dependencies,
): Promise<void> {
  const { runs, bytes } = work;
  const more = (amount: number, each: number) => Math.max(Math.ceil(amount / each) - 1, 0);
  await countRequests(caller, dependencies, {
    amount: more(runs, RUNS_PER_REQUEST) + more(bytes, BYTES_PER_REQUEST),
    counted: 1,
  });
}

function bytesOf(contents: readonly (readonly Buffer[])[]): number {
  return contents.flat().reduce((sum, { length }) => sum + length, 0);
}
