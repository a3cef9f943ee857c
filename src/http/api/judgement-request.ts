import { z } from "zod";
import { DEFAULT_SOURCE_BYTES } from "../../domain/ceilings.ts";
import {
  CHECKER_INTERFACES,
  CHECKER_RESERVED,
  CHECKER_TYPES,
  type Checker,
  type CheckerSpec,
  MAX_CHECKED_BYTES,
  MAX_PASSES,
} from "../../domain/check.ts";
import { clientError, echo } from "../../domain/error.ts";
import { isAmong } from "../../domain/harness.ts";
import {
  type Definition,
  GROUP_RULES,
  MAX_ANSWERS_BYTES,
  MAX_CONTENT_BYTES,
  MAX_GROUPS,
  MAX_POINTS,
  MAX_TESTS,
  STOPS,
  type Stop,
  type TestGroup,
  type TestMeta,
} from "../../domain/judgement.ts";
import type { Language } from "../../domain/language.ts";
import { LIMIT_FIELDS, type LimitField, type Limits, type RequestedLimits } from "../../domain/limits.ts";
import { inField, lowered } from "../../domain/program-options.ts";
import type { Caller, Program, SubmitRequest } from "../../domain/submission.ts";
import { programOf } from "../../domain/submission.ts";
import type { Dependencies } from "../dependencies.ts";
import { named } from "../named-schemas.ts";
import { additionFields, content, decodeContent, leastBytes } from "./program-options.ts";
import { checkMaps, invalidPart, submitBody, toSubmitRequest, type ValidatedRequest } from "./submit-request.ts";

const MAX_ANSWERS = 8;
const MAX_EXPRESSION_BYTES = 4_096;
const TOLERANCE_DEFAULT = "by default 10⁻⁶, or 0 if only the other error is given";

const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,63}$/;

const name = z.string().regex(NAME, "is not a name");

const oneTest = named(
  "JudgementTest",
  z.strictObject({
    name: name.describe("Name of the test; by default its number").optional(),
    stdin: content.describe('Standard input of the program: text, or {"base64": …}').optional(),
    expected: z
      .union([content, z.array(content).min(1).max(MAX_ANSWERS)])
      .describe(
        "The expected output, or several. A built-in checker needs at least one, and accepts an output that matches any of them",
      )
      .optional(),
    points: z.number().min(0).max(MAX_POINTS).describe("Points of the test; 1 by default").optional(),
    group: name.optional(),
    limits: additionFields.limits,
  }),
);

// Each type of checker has a schema of its own, so that an option which the type does not have is an error instead of having no effect.
const plain = named("PlainChecker", z.strictObject({ type: z.enum(["exact", "lines", "unordered_lines", "regex"]) }));

const wordOptions = {
  case_sensitive: z.boolean().describe("Whether upper and lower case differ; true by default").optional(),
  line_breaks: z.boolean().describe("Whether the tokens must be in the same lines; false by default").optional(),
};
const tokens = named("TokensChecker", z.strictObject({ type: z.literal("tokens"), ...wordOptions }));
const floats = named(
  "FloatsChecker",
  z.strictObject({
    type: z.literal("floats"),
    ...wordOptions,
    absolute: z.number().min(0).describe(`The largest absolute error; ${TOLERANCE_DEFAULT}`).optional(),
    relative: z.number().min(0).describe(`The largest relative error; ${TOLERANCE_DEFAULT}`).optional(),
  }),
);

const builtIn = named("BuiltInChecker", z.union([plain, tokens, floats]));

/** The source of a program or of a checker. toJudgedProgram() checks its size. */
export const judgedCode = z
  .string()
  .meta({
    minLength: 1,
    description: `Source, up to ${DEFAULT_SOURCE_BYTES} bytes of UTF-8 unless the operator sets another bound. It is required unless there is \`code_base64\` or \`entry\``,
  })
  .optional();

const program = named(
  "ProgramChecker",
  z.strictObject({
    type: z.literal("program"),
    interface: z.enum(CHECKER_INTERFACES).describe("How the checker is called and how it reports its result"),
    ...submitBody.pick({ language: true, code_base64: true, files: true, entry: true }).shape,
    code: judgedCode,
    args: z.array(z.string().max(1_000)).max(16).describe("Arguments that follow those of the interface").optional(),
    interactive: z
      .boolean()
      .describe("Whether the checker runs together with the program, so that each reads the output of the other")
      .optional(),
    passes: z
      .int()
      .min(2)
      .max(MAX_PASSES)
      .describe("The most runs of the program for one test. This field is only for the interface `kattis`")
      .optional(),
  }),
);

export const checkerField = z.union([z.enum(CHECKER_TYPES), builtIn, program]);

const oneGroup = named(
  "JudgementGroup",
  z.strictObject({
    name,
    rule: z
      .enum(GROUP_RULES)
      .describe(
        "`sum` adds the points of the tests; `min` multiplies the points of the group by the smallest share that a test earned. By default `sum`",
      )
      .optional(),
    depends: z
      .array(name)
      .describe("Earlier groups whose tests must all pass; otherwise this group is skipped")
      .optional(),
  }),
);

/** The body of POST /api/judgements. It has the fields of a submission, but tests instead of an input. */
export const judgementBody = named(
  "JudgementRequest",
  z
    .strictObject({
      ...submitBody.omit({ stdin: true, stdin_base64: true, stream: true, live_input: true, runs: true, network: true })
        .shape,
      code: judgedCode,
      tests: z
        .array(oneTest)
        .min(1)
        .max(MAX_TESTS)
        .describe("The tests. They are required unless the request has `problem`")
        .optional(),
      problem: z
        .uuid()
        .describe(
          "Id of a problem, which is used instead of `tests`, `checker` and `groups`. Its tests can have limits",
        )
        .optional(),
      problem_version: z.int().min(1).describe("Version of the problem; by default the current one").optional(),
      checker: checkerField
        .describe("How outputs are checked. By default `lines`, which ignores white space at the ends of lines")
        .optional(),
      groups: z.array(oneGroup).max(MAX_GROUPS).optional(),
      stop: z
        .enum(STOPS)
        .describe(
          "Which tests are skipped: those after the `first_failure` (the default), those after a failure in the same `group`, or none (`never`)",
        )
        .optional(),
    })
    .meta({
      examples: [
        {
          language: "python",
          code: "print(int(input()) * 2)\n",
          tests: [
            { stdin: "4\n", expected: "8\n" },
            { stdin: "5\n", expected: "10\n" },
          ],
        },
      ],
    }),
);

/** This schema accepts any tests: toJudgementRequest() checks them one by one, up to the first fault. */
const outerBody = judgementBody.extend({ tests: z.array(z.unknown()).min(1).max(MAX_TESTS).optional() });

type Fields = z.output<typeof judgementBody>;
type TestFields = z.output<typeof oneTest>;
/** All options that a built-in checker can have. */
type FloatsOptions = Omit<z.output<typeof floats>, "type">;

/** A valid request for a judgement. */
export interface JudgementRequest {
  /** The program with an empty input. */
  readonly program: ValidatedRequest;
  readonly stop: Stop;
  /** Either the tests of the request, or the id and version of a problem. An undefined version is the current one. */
  readonly on: GivenTests | { readonly problem: string; readonly version: number | undefined };
}

export interface GivenTests {
  readonly definition: Definition;
  readonly checker: Program | null;
  /** The input of each test, followed by its answers. */
  readonly contents: readonly (readonly Buffer[])[];
}

/** @param pause awaited before each test. @throws ClientError for the first fault. */
export async function toJudgementRequest(
  body: unknown,
  caller: Caller,
  dependencies: Dependencies,
  pause: () => Promise<void>,
): Promise<JudgementRequest> {
  const parsed = outerBody.safeParse(body);
  if (!parsed.success) throw invalidPart(parsed.error.issues[0]);
  checkMaps(body as Fields);
  const { checker, groups, stop = "first_failure", tests: given, problem, problem_version, ...fields } = parsed.data;
  if (problem !== undefined) {
    for (const [field, value] of Object.entries({ tests: given, checker, groups }))
      if (value !== undefined) throw invalid(field, "problem is given as well");
    const program = toJudgedProgram({ ...fields, stdin: "" }, caller, dependencies);
    return { program, stop, on: { problem: problem.toLowerCase(), version: problem_version } };
  }
  if (problem_version !== undefined) throw invalid("problem_version", "problem is not given");
  if (given === undefined) throw invalid("tests", "is required unless problem is given");
  const tests = given.map((test, at) => {
    const one = oneTest.safeParse(test);
    if (one.success) return one.data;
    const [issue] = one.error.issues;
    throw invalidPart(issue && { ...issue, path: ["tests", at, ...issue.path] });
  });
  const valid = toJudgedProgram({ ...fields, stdin: "" }, caller, dependencies);
  const { spec, program } = toChecker(checker ?? "lines", caller, dependencies);
  const metas = tests.map((test, at) => toMeta(test, at, valid, dependencies));
  const contents: Buffer[][] = [];
  for (const [at, test] of tests.entries()) {
    await pause();
    const parts = toContents(test, at, spec);
    checkAnswers(at, parts.slice(1), { spec, limits: metas[at]?.limits ?? {} }, valid, dependencies);
    contents.push(parts);
  }
  const hasPoints =
    groups !== undefined || tests.some(({ points, group }) => points !== undefined || group !== undefined);
  const definition = {
    checker: spec,
    groups: toGroups(groups ?? [], metas),
    tests: metas,
    ...(!hasPoints && { passFail: true as const }),
  };
  return { program: valid, stop, on: { definition, checker: program, contents } };
}

/** A program that is judged. Its source can be longer than that of a submission. @throws ClientError */
export function toJudgedProgram(body: unknown, caller: Caller, dependencies: Dependencies): ValidatedRequest {
  const { languages } = dependencies;
  // The limits of the program can be between those of its profile and those that its tests state.
  return toSubmitRequest(body, caller, dependencies, {
    mostCodeBytes: languages.mostSourceBytes,
    limitsOf: languages.ceilingsFor,
  });
}

function toMeta(
  { name = "", points = 1, group = "", limits = {} }: TestFields,
  at: number,
  program: ValidatedRequest,
  dependencies: Pick<Dependencies, "languages">,
): TestMeta {
  checkTestLimits(`tests.${at}.limits`, limits, program, dependencies);
  const given = Object.entries(limits).filter(([field, value]) => field in LIMIT_FIELDS && value !== undefined);
  return { name: name || String(at + 1), group, points, limits: Object.fromEntries(given) as RequestedLimits };
}

type GivenLimits = { readonly [F in LimitField]?: number | undefined };

/** @throws ClientError for a limit above the ceiling for the language of the program. */
function checkTestLimits(
  where: string,
  limits: GivenLimits,
  { submit }: ValidatedRequest,
  { languages }: Pick<Dependencies, "languages">,
): void {
  const language = languages.resolve(submit.language);
  if (language) checkCeilings(where, limits, language, languages.ceilingsFor(language, submit.profile).execute);
}

function checkCeilings(where: string, limits: GivenLimits, { name }: Language, ceilings: Limits): void {
  for (const [field, value] of Object.entries(limits)) {
    const most = inField(ceilings, field as LimitField);
    if (value !== undefined && value > most)
      throw invalid(`${where}.${field}`, `at most ${most} for ${name}, not ${value}`);
  }
}

/**
 * Checks what a problem states again, because the operator may have lowered the ceilings since it was imported, and the ceilings can differ
 * between languages. @throws ClientError
 */
export function checkProblem(
  { tests, checker, languages: permitted, limits: stated = {} }: Definition,
  program: ValidatedRequest,
  { languages }: Pick<Dependencies, "languages">,
): void {
  const { submit } = program;
  const language = languages.resolve(submit.language);
  if (!language) return;
  if (permitted && !isAmong(permitted, language) && !permitted.some((name) => languages.resolve(name) === language))
    throw invalid("language", `the problem permits only ${permitted.join(", ")}`);
  const { compile, execute } = languages.ceilingsFor(language, submit.profile);
  for (const { limits } of tests) checkCeilings("problem.limits", limits, language, execute);
  if (compile) checkCeilings("problem.limits.compile", stated.compile ?? {}, language, compile);
  for (const spec of [checker, ...tests.map((test) => test.checker)]) {
    const ofChecker = spec?.type === "program" ? languages.resolve(spec.language) : undefined;
    if (!ofChecker) continue;
    const most = languages.ceilingsFor(ofChecker, "judge");
    checkCeilings("problem.limits.checker", stated.checker?.execute ?? {}, ofChecker, most.execute);
    if (most.compile) checkCeilings("problem.limits.checker", stated.checker?.compile ?? {}, ofChecker, most.compile);
  }
  const bytes = sourceBytes(submit);
  const { codeBytes = bytes } = stated;
  if (bytes > codeBytes) throw invalid("code", `the problem permits ${codeBytes} bytes of source, not ${bytes}`);
}

function sourceBytes({ code, options }: SubmitRequest): number {
  return (options?.files ?? []).reduce((sum, { data }) => sum + data.length, Buffer.byteLength(code));
}

/** The length of a text without the white space at its end. */
function lengthWithoutBlanks(text: Buffer): number {
  let length = text.length;
  while (length > 0 && (text[length - 1] ?? 0) <= 0x20) length--;
  return length;
}

/**
 * An answer must not be longer than what a program can write. The checkers that are programs and regular expressions do not compare the
 * answer with the output byte by byte. @throws ClientError
 */
function checkAnswers(
  at: number,
  answers: readonly Buffer[],
  { spec, limits }: { readonly spec: CheckerSpec; readonly limits: RequestedLimits },
  { submit }: ValidatedRequest,
  { languages }: Pick<Dependencies, "languages">,
): void {
  const language = languages.resolve(submit.language);
  if (!language || spec.type === "program" || spec.type === "regex") return;
  const { execute } = languages.limitsForTest(language, submit.profile, { stated: { execute: limits } });
  const { stdoutBytes } = lowered(execute, submit.options?.limits ?? {});
  // White space at the end counts only for `exact`.
  const needed = (answer: Buffer) => (spec.type === "exact" ? answer.length : lengthWithoutBlanks(answer));
  if (answers.length > 0 && answers.every((answer) => needed(answer) > stdoutBytes))
    throw invalid(`tests.${at}.expected`, `is longer than the ${stdoutBytes} bytes that the program can write`);
}

function toContents({ stdin = "", expected }: TestFields, at: number, spec: CheckerSpec): Buffer[] {
  const answers = expected === undefined ? [] : Array.isArray(expected) ? expected : [expected];
  if (answers.length === 0 && spec.type !== "program") throw invalid(`tests.${at}.expected`, "is required");
  if (answers.length > 1 && spec.type === "program")
    throw invalid(`tests.${at}.expected`, "has several answers, but a checker that is a program gets only one");
  const tooLong = () => invalid(`tests.${at}`, `more than ${MAX_CONTENT_BYTES} bytes`);
  if ([stdin, ...answers].some((one) => leastBytes(one) > MAX_CONTENT_BYTES)) throw tooLong();
  const checkTogether = (sizes: readonly number[]) => {
    if (sizes.reduce((sum, size) => sum + size, 0) > MAX_ANSWERS_BYTES)
      throw invalid(`tests.${at}.expected`, `more than ${MAX_ANSWERS_BYTES} bytes in all answers together`);
  };
  checkTogether(answers.map(leastBytes));
  const decoded = answers.map((answer) => decodeContent(`tests.${at}.expected`, answer));
  // Whether the answer is a valid regular expression is not checked here, because parsing it can take long.
  if (spec.type === "regex" && decoded.some(({ length }) => length > MAX_EXPRESSION_BYTES))
    throw invalid(`tests.${at}.expected`, `an expression has at most ${MAX_EXPRESSION_BYTES} bytes`);
  const all = [decodeContent(`tests.${at}.stdin`, stdin), ...decoded];
  if (all.some(({ length }) => length > MAX_CONTENT_BYTES)) throw tooLong();
  checkTogether(decoded.map(({ length }) => length));
  const [input, answer] = all;
  if (spec.type === "program" && (input?.length ?? 0) + (answer?.length ?? 0) > MAX_CHECKED_BYTES)
    throw invalid(
      `tests.${at}`,
      `more than ${MAX_CHECKED_BYTES} bytes of input and answer for a checker that is a program`,
    );
  return all;
}

function toChecker(
  checker: z.output<typeof checkerField>,
  caller: Caller,
  dependencies: Dependencies,
): { readonly spec: CheckerSpec; readonly program: Program | null } {
  if (typeof checker === "string") return { spec: withDefaults({ type: checker }), program: null };
  if (checker.type !== "program") {
    const { type, ...options } = checker;
    const { case_sensitive: caseSensitive, line_breaks: lineBreaks, absolute, relative }: FloatsOptions = options;
    return { spec: withDefaults({ type, caseSensitive, lineBreaks, absolute, relative }), program: null };
  }
  const { type, interface: called, args = [], interactive = false, passes, ...source } = checker;
  if (passes !== undefined && called !== "kattis") throw invalid("checker.passes", "is only for the interface kattis");
  const reserved = Object.keys(source.files ?? {}).find((path) => CHECKER_RESERVED.test(path));
  if (reserved !== undefined) throw invalid("checker.files", `${echo(reserved)} is a directory of the checker's box`);
  checkMaps(source);
  for (const arg of args) if (arg.includes("\0") || !arg.isWellFormed()) throw invalid("checker.args", "is not text");
  const { submit, refusal } = toJudgedProgram(source, caller, dependencies);
  if (refusal) throw refusal;
  const kind = { ...(interactive ? { interactive } : {}), ...(passes === undefined ? {} : { passes }) };
  return { spec: { type, interface: called, language: submit.language, args, ...kind }, program: programOf(submit) };
}

function withDefaults(checker: Checker): Checker {
  if (checker.type !== "floats" || checker.absolute !== undefined || checker.relative !== undefined) return checker;
  return { ...checker, absolute: 1e-6, relative: 1e-6 };
}

/** Returns the groups in the order of their first tests. A group can depend only on groups before it, so there are no cycles. */
function toGroups(fields: NonNullable<Fields["groups"]>, tests: readonly TestMeta[]): TestGroup[] {
  const used = [...new Set(tests.map(({ group }) => group))];
  if (used.length > MAX_GROUPS) throw invalid("tests", `more than ${MAX_GROUPS} groups`);
  const names = fields.map((group) => group.name);
  if (new Set(names).size < names.length) throw invalid("groups", "two groups have the same name");
  for (const [at, group] of fields.entries()) {
    const place = used.indexOf(group.name);
    if (place < 0) throw invalid(`groups.${at}`, `${echo(group.name)} has no tests`);
    for (const other of group.depends ?? [])
      if (!used.slice(0, place).includes(other))
        throw invalid(`groups.${at}.depends`, `the tests of ${echo(other)} must come before those of the group`);
  }
  const byName = new Map(fields.map((group) => [group.name, group]));
  return used.map((one) => {
    const { rule = "sum", depends = [] } = byName.get(one) ?? {};
    return { name: one, rule, depends };
  });
}

function invalid(field: string, reason: string) {
  return clientError("invalidRequest", [field, reason]);
}
