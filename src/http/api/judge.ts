import { z } from "zod";
import { CHECKER_TYPES } from "../../domain/check.ts";
import { jsonPieces, LongText } from "../../domain/json-pieces.ts";
import { type Judgement, verdictIn } from "../../domain/judgement.ts";
import { toLongRecord } from "../../domain/record.ts";
import type { Submission } from "../../domain/submission.ts";
import { named } from "../named-schemas.ts";
import { route } from "../route.ts";
import { addJudgement } from "./accept-judgement.ts";
import { submissionId } from "./fields.ts";
import { judgedCode } from "./judgement-request.ts";
import { endedJudgement, JUDGEMENT_ERRORS, judgementVerdict } from "./judgements.ts";
import { invalidPart, submitBody } from "./submit-request.ts";

/** If the outputs of all cases together have at most this size, they are read at once. */
const FEW_BYTES = 262_144;

/** The most cases of one request. The response contains the output of each case. */
export const MAX_CASES = 50;

const oneCase = named(
  "Case",
  z.strictObject({ stdin: z.string().optional(), expected: z.string().describe("The expected output") }),
);

/** The body of POST /api/judge. It has the fields of a submission, but cases instead of an input. */
export const judgeBody = named(
  "JudgeRequest",
  z
    .strictObject({
      ...submitBody.omit({ stdin: true, stdin_base64: true, stream: true, live_input: true, runs: true, network: true })
        .shape,
      code: judgedCode,
      cases: z.array(oneCase).min(1).max(MAX_CASES),
      checker: z
        .enum(CHECKER_TYPES)
        .describe(
          "How the output is compared with `expected`. By default `lines`, which ignores white space at the ends of lines",
        )
        .optional(),
    })
    .meta({
      examples: [{ language: "python", code: "print(int(input()) * 2)\n", cases: [{ stdin: "4\n", expected: "8\n" }] }],
    }),
);

const caseResult = named(
  "CaseResult",
  z.strictObject({
    submission_id: submissionId.nullable(),
    verdict: judgementVerdict,
    passed: z.boolean(),
    message: z.string().nullable().describe("The first difference, or the error message of the record"),
    stdout: z.string().describe("What the program wrote, of which the first MiB is stored"),
    stderr: z.string(),
    exit_code: z.int().nullable(),
    cpu_time_secs: z.number().nullable(),
    wall_time_secs: z.number().nullable(),
    memory_peak_bytes: z.int().nullable(),
  }),
);

/** Makes a judgement with all cases, waits for its end, and responds with the results and outputs. */
export const judge = route({
  id: "judge",
  method: "post",
  path: "/api/judge",
  summary: "Judge a program",
  description:
    "Runs a program on up to 50 cases and compares each output with `expected`. The response is sent when all cases have run. " +
    "If they have not run after 30 s, the response is 408 with the `id` of the judgement. Unlike `POST /api/judgements`, the " +
    "response has the outputs of the program.",
  body: judgeBody,
  successes: {
    200: {
      description: "The results in the order of the cases",
      body: named("Judged", z.strictObject({ results: z.array(caseResult), all_passed: z.boolean() })),
    },
  },
  errors: JUDGEMENT_ERRORS,
  handler: (services) => async (call) => {
    const { dependencies, answers } = services;
    const { request, reply, caller, owner } = call;
    const { store } = dependencies;
    const { accountId } = caller;
    const id = await addJudgement(toJudgementBody(request.body), { caller, owner }, dependencies, answers);
    request.forgetBody?.();
    const ended = await endedJudgement(id, call, services);
    const runs = ended.runs.map(async ({ test, submissionId }) => {
      const found = await store.submissions.head(submissionId, accountId);
      return [test, found] as const;
    });
    const found = new Map(await Promise.all(runs));
    const bytes = [...found.values()].map((run) => run?.output?.bytes ?? 0);
    const read = async (test: number) => {
      const run = found.get(test);
      return resultOf(ended, test, run?.output ? await run.output.read() : run?.submission);
    };
    const admit = answers.admitFor(owner, request, reply);
    const allBytes = bytes.reduce((sum, one) => sum + one, 0);
    if (allBytes <= FEW_BYTES) {
      await admit(allBytes);
      const results = await Promise.all(ended.states.map((_, test) => read(test)));
      return answers.send(owner, reply, { results, all_passed: ended.verdict === "AC" });
    }
    // The outputs are read and sent one after the other, so that the response needs no more memory than the largest output.
    await admit(Math.max(...bytes));
    async function* pieces() {
      yield '{"results":[';
      for (const test of ended.states.keys() ?? []) {
        if (test > 0) yield ",";
        yield* jsonPieces(await read(test));
      }
      yield `],"all_passed":${ended.verdict === "AC"}}`;
    }
    return answers.sendPieces(owner, reply.type("application/json; charset=utf-8"), pieces());
  },
});

/** Converts the body of POST /api/judge to that of POST /api/judgements. @throws ClientError invalidRequest. */
export function toJudgementBody(body: unknown) {
  const parsed = judgeBody.safeParse(body);
  if (!parsed.success) throw invalidPart(parsed.error.issues[0]);
  const { cases, ...fields } = body as z.output<typeof judgeBody>;
  return { ...fields, tests: cases, stop: "never" };
}

/** The result of one case. A case that has not run gets the verdict that ended the judgement: CE or IE. */
function resultOf(judgement: Judgement, test: number, submission: Submission | undefined) {
  const run = judgement.runs.find((one) => one.test === test);
  const [first] = judgement.runs;
  const verdict = verdictIn(judgement.states[test] ?? "skipped") ?? judgement.verdict ?? "IE";
  const record = submission && toLongRecord(submission);
  return {
    submission_id: (run ?? first)?.submissionId ?? null,
    verdict,
    passed: verdict === "AC",
    message: (run ?? first)?.message ?? null,
    stdout: record?.output.stdout ?? new LongText(Buffer.alloc(0)),
    stderr: record?.output.stderr ?? new LongText(Buffer.alloc(0)),
    exit_code: record?.result.exit_code ?? null,
    cpu_time_secs: record?.metrics.cpu_time_secs ?? null,
    wall_time_secs: record?.metrics.wall_time_secs ?? null,
    memory_peak_bytes: record?.metrics.memory_peak_bytes ?? null,
  };
}
