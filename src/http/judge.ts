import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { MAX_FILES_BYTES } from "../domain/additions.ts";
import { CHECKER_TYPES, type Checked, type Checker, check } from "../domain/check.ts";
import { clientError } from "../domain/error.ts";
import { LongText } from "../domain/json-pieces.ts";
import { toLongRecord } from "../domain/record.ts";
import { type Caller, isTerminal, type Submission } from "../domain/submission.ts";
import type { Admit } from "../store/submissions/types.ts";
import { accept } from "./accept.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";
import { disconnected } from "./gone.ts";
import type { LongAnswers } from "./long-answers.ts";
import { ownerOf } from "./owner.ts";
import { checkMaps, invalidPart, submitBody, toSubmitRequest, type ValidatedRequest } from "./request.ts";

/** Cases of one request. */
export const MAX_CASES = 50;

/** Outputs of this size are compared without a pause for other requests. */
const OUTPUT_BYTES = 65_536;
/** The comparison of larger texts would delay other requests. */
const MAX_EXPECTED_BYTES = 65_536;
/** Of the files of a program, for all cases together. */
const MAX_STORED_BYTES = 4 * MAX_FILES_BYTES;

const oneCase = z.strictObject({
  stdin: z.string().optional(),
  expected: z.string().describe(`The answer, up to ${MAX_EXPECTED_BYTES} bytes of UTF-8`),
});

/** The program has the fields of a submission, and cases instead of an input. */
export const judgeBody = z
  .strictObject({
    ...submitBody.omit({ stdin: true, stdin_base64: true, stream: true }).shape,
    cases: z.array(oneCase).min(1).max(MAX_CASES),
    checker: z
      .enum(CHECKER_TYPES)
      .describe("How output is compared with `expected`; `lines` by default, without white space at ends")
      .optional(),
  })
  .meta({
    examples: [{ language: "python", code: "print(int(input()) * 2)\n", cases: [{ stdin: "4\n", expected: "8\n" }] }],
  });

/**
 * POST /api/judge: runs a program on each case and compares its output. Each case is a submission. The first one runs alone,
 * because a program that does not compile needs no other, and the others then need no compile step.
 */
export function judgeRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const { holdMs } = dependencies;
  server.post("/api/judge", async (request, reply) => {
    const { cases, checker, requests } = toRequests(request, dependencies);
    await countAll(request, requests.length - 1, dependencies);
    request.forgetBody?.();
    const caller = callerOf(request);
    const owner = ownerOf(request);
    const signal = AbortSignal.any([AbortSignal.timeout(holdMs), disconnected(reply), stopping]);
    const admit = answers.admitFor(owner, request, reply);
    const run = async (some: readonly ValidatedRequest[]) => {
      const submitted = await submitAll(some, caller, dependencies);
      return await Promise.all(submitted.map((one) => whenEnded(dependencies, one, signal, admit)));
    };
    const ended = await run(requests.slice(0, 1));
    const first = ended[0] as Submission;
    if (isTerminal(first.status) && !failedToCompile(first)) ended.push(...(await run(requests.slice(1))));
    if (!ended.every(({ status }) => isTerminal(status))) {
      const fields = { submissions: ended.map(({ id, status }) => ({ id, status })) };
      throw clientError("judgeNotFinished", [holdMs / 1000], { fields });
    }
    const results: object[] = [];
    for (const [at, expected] of cases.entries()) {
      const submission = ended[at] ?? first;
      if ((submission.outcome?.output?.stdout.length ?? 0) > OUTPUT_BYTES) await answers.pace.turn(owner);
      results.push(resultOf(submission, expected, checker));
    }
    const all_passed = results.every((result) => (result as { passed: boolean }).passed);
    return answers.send(owner, reply, { results, all_passed });
  });
}

/** All or none: if one is refused, the others are cancelled. */
async function submitAll(
  requests: readonly ValidatedRequest[],
  caller: Caller,
  dependencies: Dependencies,
): Promise<Submission[]> {
  const settled = await Promise.allSettled(requests.map((one) => accept(one, caller, dependencies)));
  const accepted = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.submission] : []));
  const refused = settled.find((one) => one.status === "rejected");
  if (!refused) return accepted;
  for (const { id, accountId } of accepted) await dependencies.store.submissions.cancel(id, accountId);
  throw refused.reason;
}

function toRequests(request: FastifyRequest, dependencies: Dependencies) {
  const parsed = judgeBody.safeParse(request.body);
  if (!parsed.success) {
    throw invalidPart(parsed.error.issues[0]);
  }
  checkMaps(request.body as z.output<typeof judgeBody>);
  const { cases, checker: type = "lines", ...program } = parsed.data;
  const first = toSubmitRequest({ ...program, stdin: "" }, callerOf(request), dependencies);
  const fileBytes = first.submit.additions?.files.reduce((sum, { data }) => sum + data.length, 0) ?? 0;
  // Each case stores the files.
  if (fileBytes * cases.length > MAX_STORED_BYTES)
    throw clientError("invalidRequest", ["files", `with ${cases.length} cases more than ${MAX_STORED_BYTES} bytes`]);
  const requests = cases.map(({ stdin = "" }) =>
    toSubmitRequest({ ...program, stdin }, callerOf(request), dependencies),
  );
  for (const [at, { expected }] of cases.entries()) {
    if (!expected.isWellFormed()) throw clientError("notUnicode", [`cases.${at}.expected`]);
    if (Buffer.byteLength(expected) > MAX_EXPECTED_BYTES)
      throw clientError("invalidRequest", [`cases.${at}.expected`, `more than ${MAX_EXPECTED_BYTES} bytes`]);
  }
  const checker: Checker = type === "floats" ? { type, absolute: 1e-6, relative: 1e-6 } : { type };
  return { cases: cases.map(({ expected }) => Buffer.from(expected)), checker, requests };
}

/** Each case counts against the rate limit; the request itself has counted as its first one. */
async function countAll(request: FastifyRequest, more: number, { store }: Dependencies): Promise<void> {
  const { keyId, requestsPerMinute } = callerOf(request);
  const waits = await Promise.all(Array.from({ length: more }, () => store.quota.take(keyId, requestsPerMinute)));
  const retryAfter = Math.max(0, ...waits);
  if (retryAfter > 0) throw clientError("quotaExceeded", [], { headers: { "retry-after": String(retryAfter) } });
}

async function whenEnded(
  { store }: Dependencies,
  submission: Submission,
  signal: AbortSignal,
  admit: Admit,
): Promise<Submission> {
  const { id, accountId } = submission;
  return (await store.submissions.whenTerminal(id, accountId, signal, admit)) ?? submission;
}

function failedToCompile({ outcome }: Submission): boolean {
  return outcome?.judgement.cause.startsWith("compile_") ?? false;
}

/** An output that is much longer is wrong by all checkers but for white space, and is not compared. */
function compare(checker: Checker, stdout: Buffer, expected: Buffer): Checked {
  if (stdout.length <= 2 * expected.length + OUTPUT_BYTES) return check(checker, stdout, [expected]);
  return { passed: false, message: "the output is much longer than the answer" };
}

function resultOf(submission: Submission, expected: Buffer, checker: Checker) {
  const { id, result, output, metrics } = toLongRecord(submission);
  const stdout = submission.outcome?.output?.stdout;
  const isCut = output.integrity === "truncated_by_judge_limit";
  const checked = result.verdict === "AC" && stdout ? compare(checker, stdout, expected) : null;
  const passed = checked?.passed === true && !isCut;
  const verdict = failedToCompile(submission) ? "CE" : result.verdict === "AC" && !passed ? "WA" : result.verdict;
  return {
    submission_id: id,
    verdict,
    passed,
    message: checked && isCut ? "the output exceeds its limit" : (checked?.message ?? result.error_message),
    stdout: output.stdout ?? new LongText(Buffer.alloc(0)),
    stderr: output.stderr ?? new LongText(Buffer.alloc(0)),
    exit_code: result.exit_code,
    cpu_time_secs: metrics.cpu_time_secs,
    wall_time_secs: metrics.wall_time_secs,
    memory_peak_bytes: metrics.memory_peak_bytes,
  };
}
