import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Judgement } from "../../domain/judgement.ts";
import { verdictIn } from "../../domain/judgement.ts";
import { isTerminal, MAX_CODE_BYTES, type Submission } from "../../domain/submission.ts";
import { listed } from "../../languages/load.ts";
import { accept } from "../api/accept.ts";
import { addJudgement } from "../api/accept-judgement.ts";
import { judgeBody, toJudgementBody } from "../api/judge.ts";
import { whenJudged } from "../api/judgements.ts";
import { submitBody, toSubmitRequest } from "../api/submit-request.ts";
import {
  FAILED_SHOWN,
  judgeResult,
  outputPage,
  runResult,
  showJudgement,
  showPage,
  showRun,
  type ToolResult,
} from "./results.ts";
import { SANDBOX_TOOLS } from "./sandbox-tools.ts";
import { type Tool, type ToolCall, tool } from "./tool.ts";

/** The fields of POST /api/submit that tools have, some with a description for models. */
const program = {
  language: submitBody.shape.language.describe(
    "A name or alias from list_languages, such as `python`, `cpp` or `javascript`",
  ),
  code: z
    .string()
    .meta({ minLength: 1, maxLength: MAX_CODE_BYTES })
    .describe(`The source, a whole program that reads stdin and writes stdout; up to ${MAX_CODE_BYTES} bytes`),
  files: submitBody.shape.files,
  args: submitBody.shape.args,
  profile: submitBody.shape.profile.describe("Limits: `agent` allows more time and memory, if the key has it"),
};

const runCode = tool({
  name: "run_code",
  title: "Run a program",
  description:
    "Runs a program in a sandbox without network and returns its output, a verdict (AC: exit code 0; RE, TLE, MLE, PLE, FSE, " +
    "SIG: how it failed; IE: the platform failed) and the reason. Waits for the end up to half a minute; if the run has not " +
    "ended by then, call get_result. Each run starts from nothing: files of earlier runs are gone.",
  input: z.strictObject({ ...program, stdin: submitBody.shape.stdin }),
  output: runResult,
  isReadOnly: false,
  handler: async (given, { request, caller, dependencies, admit, signal, onAccepted }) => {
    const { submission } = await accept(toSubmitRequest(given, caller, dependencies), caller, dependencies);
    const { id, accountId } = submission;
    request.submissionId = id;
    onAccepted(id);
    const ended = await dependencies.store.submissions.whenTerminal(id, accountId, signal, admit, true);
    return showRun(ended ?? submission, dependencies.holdMs);
  },
});

const judge = tool({
  name: "judge",
  title: "Test a program on cases",
  description:
    "Runs a program on up to 50 cases of stdin and expected stdout, and reports for each whether the output was right, with the " +
    "first difference. White space at the ends of lines is ignored, unless `checker` says otherwise.",
  input: z.strictObject({ ...program, ...judgeBody.pick({ cases: true, checker: true }).shape }),
  output: judgeResult,
  isReadOnly: false,
  handler: async (given, call) => {
    const { caller, owner, dependencies, answers } = call;
    const id = await addJudgement(toJudgementBody(given), { caller, owner }, dependencies, answers);
    call.onAccepted(id);
    const judgement = await whenJudged(dependencies, id, caller.accountId, call.signal);
    if (!judgement) throw clientError("judgementNotFound", []);
    return await shownJudgement(judgement, call);
  },
});

const language = z.strictObject({
  name: z.string(),
  label: z.string(),
  aliases: z.array(z.string()),
  wall_time_secs: z.number().describe("Wall time limit of a run in the default profile of the key"),
  memory_bytes: z.int().describe("Memory limit of a run in the default profile of the key"),
});

const listLanguages = tool({
  name: "list_languages",
  title: "List the languages",
  description: "Lists the languages that work now, with their versions, aliases, and the limits of a run.",
  input: z.strictObject({}),
  output: z.strictObject({ languages: z.array(language) }),
  isReadOnly: true,
  handler: async (_, { caller, dependencies: { workers, languages } }) => {
    const found = listed(languages, workers.languages()).map((language) => {
      const { name, label, aliases } = language;
      const { wallMs, memoryBytes } = languages.limitsFor(language, caller.defaultProfile).execute;
      return { name, label, aliases: [...aliases], wall_time_secs: wallMs / 1000, memory_bytes: memoryBytes };
    });
    if (found.length === 0) throw clientError("languagesUnproven", [], { headers: { "retry-after": "2" } });
    const lines = found.map(({ name, label, aliases }) => [`${name}: ${label}`, ...aliases].join(", "));
    return { value: { languages: found }, texts: [lines.join("\n")] };
  },
});

const getResult = tool({
  name: "get_result",
  title: "Get a result",
  description:
    "Returns the result of an earlier run_code or judge by its id; waits for its end up to half a minute. With `stream` and " +
    "`offset`, it returns a page of an output that was too long.",
  input: z.strictObject({
    id: z.uuid().describe("The id of a run or a judgement"),
    stream: z.enum(["stdout", "stderr"]).optional().describe("Returns a page of this output of a finished run instead"),
    offset: z.int().min(0).optional().describe("First byte of the page; 0 by default"),
  }),
  output: z.strictObject({
    run: runResult.optional(),
    judgement: judgeResult.optional(),
    page: outputPage.optional(),
  }),
  isReadOnly: true,
  handler: async ({ id: given, stream, offset }, call) => {
    const { request, dependencies, signal } = call;
    const { accountId } = call.caller;
    const { submissions } = dependencies.store;
    const id = given.toLowerCase();
    if (stream === undefined && offset !== undefined)
      throw clientError("invalidRequest", ["stream", "is required with offset"]);
    const submission = stream
      ? await submissions.get(id, accountId, call.admit)
      : await submissions.whenTerminal(id, accountId, signal, call.admit);
    if (submission) {
      request.submissionId = id;
      if (stream === undefined) return named("run", showRun(submission, dependencies.holdMs));
      const output = submission.outcome?.output;
      if (!output) throw clientError("noOutput", []);
      return named("page", showPage(id, stream, output[stream], offset ?? 0));
    }
    const judgement = stream ? undefined : await whenJudged(dependencies, id, accountId, signal);
    if (!judgement) throw clientError("submissionNotFound", []);
    return named("judgement", await shownJudgement(judgement, call));
  },
});

export const TOOLS: readonly Tool[] = [runCode, judge, listLanguages, getResult, ...SANDBOX_TOOLS];

function named<Name extends string, Value>(name: Name, { value, texts }: ToolResult<Value>) {
  return { value: { [name]: value } as Record<Name, Value>, texts };
}

/** Reads the outputs of the first cases that did not pass. */
async function shownJudgement(judgement: Judgement, call: ToolCall) {
  const { store, holdMs } = call.dependencies;
  const failed = new Map<number, Submission>();
  const wanted = isTerminal(judgement.status) ? judgement.runs : [];
  for (const { test, submissionId } of wanted.toSorted((one, other) => one.test - other.test)) {
    if (verdictIn(judgement.states[test] ?? "skipped") === "AC") continue;
    if (failed.size === FAILED_SHOWN) break;
    const found = await store.submissions.get(submissionId, judgement.accountId, call.admit);
    if (found) failed.set(test + 1, found);
  }
  return showJudgement(judgement, failed, holdMs);
}
