import { basename, dirname, extname } from "node:path/posix";
import { z } from "zod";
import { ANSWERS_LANGUAGE, MAX_ANSWERED_TESTS } from "../domain/answers.ts";
import type { CheckerSpec } from "../domain/check.ts";
import type { Harness } from "../domain/harness.ts";
import { MAX_GROUPS, MAX_POINTS, MAX_TESTS, type TestGroup, type TestMeta } from "../domain/judgement.ts";
import { MAX_FILES_BYTES, throughFiles, toFilePath } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { compiledWith, isCompiledWith } from "./compiled-with.ts";
import { FORMAT_VERDICTS, type SubmissionExpectations } from "./expectations.ts";
import type { Faults } from "./faults.ts";
import { checkTogether, contentOf, PackageError, type PackageFiles, renamed, sizeOf } from "./files.ts";
import { ceilingOf, limitsOfPackage } from "./limits.ts";
import type { ProblemPackage } from "./package.ts";
import { type Source, toProgram } from "./source.ts";
import type { PackageTest } from "./tests.ts";
import { type Read, readYaml } from "./yaml.ts";

/**
 * Tasks in the Italian format of CMS: task.yaml, and files whose names have a meaning. The type of a task and its subtasks follow from
 * which files there are, by the rules of the importer of CMS.
 */

export const CMS_FILE = "task.yaml";
const GEN = "gen/GEN";
const KIB = 1_024;
const MAX_GEN_BYTES = 1_048_576;
const MAX_TITLE = 200;
/** The points of a task whose tests all count alike, unless task.yaml has total_value. */
const DEFAULT_TOTAL = 100;

const text = z.union([z.string(), z.number()]).transform(String);
const stream = z.string().nullable().optional();
const positive = z.number().positive();
/** Lists of tests whose output a contestant submits, besides a program for the others. */
const noOutputs = z.literal("", { error: "tasks with programs and submitted outputs are not supported" }).nullish();
/** Keys that no rule here names are about contests, tokens and feedback. Some keys also have an Italian name. */
const taskFile = z.looseObject({
  name: text.optional(),
  nome_breve: text.optional(),
  title: text.optional(),
  nome: text.optional(),
  time_limit: positive.nullish(),
  timeout: positive.nullish(),
  memory_limit: positive.nullish(),
  memlimit: positive.nullish(),
  n_input: z.int().min(0).optional(),
  infile: stream,
  outfile: stream,
  total_value: z.number().min(0).max(MAX_POINTS).optional(),
  task_type: z.enum(["Batch", "OutputOnly"], { error: "only Batch and OutputOnly are supported" }).optional(),
  output_only: z.boolean().nullish(),
  output_only_testcases: noOutputs,
  output_optional_testcases: noOutputs,
  score_type: z.string().optional(),
  score_type_parameters: z.unknown().optional(),
});
type Task = Read<z.output<typeof taskFile>>;

/** Reads a task of CMS of the type Batch or OutputOnly. @throws PackageError */
export function readCms(files: PackageFiles, languages: Languages, faults: Faults): ProblemPackage {
  const task = readYaml(files, CMS_FILE, taskFile) as Task;
  const { value } = task;
  for (const path of files.keys()) checkSupported(path);
  const harness = readGraders(files, languages);
  const { checker, program } = faults.attempt(() => readChecker(files, languages), NO_CHECKER);
  const subtasks = readSubtasks(task, files, program !== null);
  const { secs, limits, problem, outputBytes } = limitsOf(task, languages);
  const streams = throughFiles(streamFile(task, "infile"), streamFile(task, "outfile"));
  const answers = value.output_only === true || value.task_type === "OutputOnly";
  const amount = subtasks.reduce((sum, { tests: own }) => sum + own.length, 0);
  if (answers && amount > MAX_ANSWERED_TESTS)
    throw task.fault(
      ["n_input"],
      `has more than ${MAX_ANSWERED_TESTS} tests, for each of which a submission has a file`,
    );
  const mostBytes = answers ? Math.min(outputBytes, MAX_FILES_BYTES) : outputBytes;
  const tests = subtasks.flatMap(({ group, points, tests: own }) =>
    own.map((number): PackageTest & { readonly number: number } => {
      const [path, answerPath] = [`input/input${number}.txt`, `output/output${number}.txt`];
      for (const one of [path, answerPath])
        if (!files.has(one)) throw new PackageError(one, "is missing: make the tests of the task first, with gen/GEN");
      const [input, answer] = [contentOf(files, path), contentOf(files, answerPath)];
      if (program) checkTogether(path, [input.size, answer.size]);
      else if (answer.size > mostBytes)
        throw new PackageError(
          answerPath,
          `has more than the ${mostBytes} bytes that a ${answers ? "submission can have" : "program can write"}`,
        );
      const codename = String(number).padStart(3, "0");
      const name = group.name === ALL ? codename : `${group.name}/${codename}`;
      const more = answers && { answerFile: `output_${codename}.txt` };
      const meta: TestMeta = { name, group: group.name, points: points / own.length, limits, ...streams, ...more };
      return { number, meta, parts: [input, answer] };
    }),
  );
  return {
    format: "cms",
    name: value.name ?? value.nome_breve ?? "",
    title: titleOf(task),
    scoring: true,
    timing: { limitSecs: secs, acToLimit: 1, limitToTle: 1, resolutionSecs: 1 },
    definition: {
      checker,
      groups: subtasks.map(({ group }) => group),
      tests: tests.map(({ meta }) => meta),
      limits: answers ? { ...problem, codeBytes: MAX_FILES_BYTES } : problem,
      ...(answers && { languages: [ANSWERS_LANGUAGE] }),
      ...(harness && !answers && { languages: Object.keys(harness) }),
    },
    checker: program,
    harness,
    tests,
    inputs: [],
    outputs: [],
    inputValidators: [],
    grader: null,
    stop: "never",
    ...readSolutions(files, value.name ?? value.nome_breve ?? ""),
  };
}

/** Files that change what a submission is compiled or runs with. */
const NOT_SUPPORTED: readonly (readonly [path: RegExp, message: string])[] = [
  [/^(check|cor)\/manager(\.[^/]*)?$/, "tasks of the type Communication are not supported"],
];

function checkSupported(path: string): void {
  const found = NOT_SUPPORTED.find(([pattern]) => pattern.test(path));
  if (found) throw new PackageError(path, found[1]);
}

function titleOf({ value: { title, nome, name = "" }, fault }: Task): string {
  const found = title ?? nome ?? name;
  if (found.length > MAX_TITLE || /\p{Cc}/u.test(found))
    throw fault(["title"], `title: must be at most ${MAX_TITLE} characters in one line`);
  return found;
}

/** The name of a file for the input or the output; CMS has default names, and standard streams only if the name is empty. */
function streamFile({ value, fault }: Task, key: "infile" | "outfile"): string {
  const name = value[key] === undefined ? { infile: "input.txt", outfile: "output.txt" }[key] : (value[key] ?? "");
  if (name === "") return "";
  if (name.includes("/") || toFilePath(name) !== name) throw fault([key], `${key}: is no plain name of a file`);
  return name;
}

function limitsOf({ value, fault }: Task, languages: Languages) {
  const [time, memory] = [
    value.time_limit === undefined ? "timeout" : "time_limit",
    value.memory_limit === undefined ? "memlimit" : "memory_limit",
  ] as const;
  const names = { time_limit: time, memory };
  const given = {
    time_limit: value[time] ?? undefined,
    memory: value[memory] ?? undefined,
    // CMS limits the length of submissions only for a whole contest.
    code: Math.floor(languages.mostSourceBytes / KIB),
  };
  const { run, problem, outputBytes } = limitsOfPackage(
    given,
    {
      fault: ([, key], message) => {
        const name = names[key as keyof typeof names];
        return fault([name], message.replace(/^limits\.\w+/, name));
      },
    },
    languages,
  );
  // A task without a time limit has the highest one.
  return { secs: given.time_limit ?? ceilingOf("time_limit", languages), limits: run, problem, outputBytes };
}

// --- subtasks -------------------------------------------------------------------------------------

interface Subtask {
  readonly group: TestGroup;
  /** The points of all its tests together. */
  readonly points: number;
  readonly tests: readonly number[];
}

/** The name of the only group of a task without subtasks. */
const ALL = "tests";

function readSubtasks(task: Task, files: PackageFiles, hasChecker: boolean): Subtask[] {
  const { value, fault } = task;
  const { score_type, score_type_parameters, n_input, total_value = DEFAULT_TOTAL } = value;
  if (n_input !== undefined && n_input > MAX_TESTS) throw fault(["n_input"], `n_input: more than ${MAX_TESTS} tests`);
  if (score_type !== undefined && score_type_parameters !== undefined && n_input !== undefined)
    return scored(task, n_input, hasChecker);
  if (score_type_parameters !== undefined)
    throw fault(["score_type_parameters"], "score_type_parameters: has no effect without score_type and n_input");
  const gen = readGen(files);
  const follows = gen && gen.subtasks.length > 0 ? "GroupMin" : "Sum";
  if (score_type !== undefined && score_type !== follows)
    throw fault(["score_type"], `score_type: is ${score_type}, but ${follows} follows from ${GEN}`);
  const amount = gen?.tests ?? n_input;
  if (amount === undefined) throw fault([], `has neither n_input nor ${GEN}`);
  if (n_input !== undefined && n_input !== amount)
    throw fault(["n_input"], `n_input: is ${n_input}, but ${GEN} has ${amount} tests`);
  if (amount === 0) throw fault(["n_input"], "n_input: there are no tests");
  if (gen && gen.subtasks.length > 0) return consecutive(gen.subtasks, (message) => new PackageError(GEN, message));
  return [all(total_value, amount)];
}

function all(points: number, amount: number): Subtask {
  return {
    group: { name: ALL, rule: "sum", depends: [] },
    points,
    tests: Array.from({ length: amount }, (_, at) => at),
  };
}

/** Subtasks of consecutive tests. One without tests has no effect, and therefore cannot have points. */
function consecutive(
  given: readonly { readonly points: number; readonly amount: number }[],
  fault: (message: string) => PackageError,
): Subtask[] {
  let next = 0;
  if (given.length > MAX_GROUPS) throw fault(`has more than ${MAX_GROUPS} subtasks`);
  return given.flatMap(({ points, amount }, at) => {
    const tests = Array.from({ length: amount }, (_, test) => next + test);
    next += amount;
    if (amount > 0) return [{ group: { name: `subtask-${at + 1}`, rule: "min", depends: [] } as const, points, tests }];
    if (points > 0) throw fault(`subtask ${at + 1} has points, but no tests`);
    return [];
  });
}

interface Gen {
  readonly tests: number;
  readonly subtasks: readonly { readonly points: number; readonly amount: number }[];
}

/**
 * Reads gen/GEN: each line that is neither empty nor a comment stands for a test, and so does a comment that begins with COPY:. A comment
 * that begins with ST: begins a subtask with so many points.
 */
function readGen(files: PackageFiles): Gen | null {
  const size = sizeOf(files, GEN);
  if (size === undefined) return null;
  if (size > MAX_GEN_BYTES) throw new PackageError(GEN, `has more than ${MAX_GEN_BYTES} bytes`);
  const subtasks: { points: number; amount: number }[] = [];
  let tests = 0;
  const lines = String(files.get(GEN)).split("\n");
  for (const [at, line] of lines.entries()) {
    const fail = (message: string) => new PackageError(GEN, message, at + 1);
    const hash = line.indexOf("#");
    const command = (hash < 0 ? line : line.slice(0, hash)).trim();
    const comment = hash < 0 ? "" : line.slice(hash + 1).trim();
    const [copies, begins] = ["COPY:", "ST:"].map((word) => comment.startsWith(word));
    if (command !== "" && (copies || begins)) throw fail("has a test and a command in one line");
    if (begins) {
      const points = comment.slice("ST:".length).trim();
      if (!/^\d{1,7}$/.test(points) || Number(points) > MAX_POINTS)
        throw fail(`the points of a subtask must be a whole number of at most ${MAX_POINTS}`);
      if (tests > 0 && subtasks.length === 0) throw fail("the tests before are in no subtask");
      if (subtasks.length === MAX_GROUPS) throw fail(`has more than ${MAX_GROUPS} subtasks`);
      subtasks.push({ points: Number(points), amount: 0 });
    } else if (command !== "" || copies) {
      if (++tests > MAX_TESTS) throw fail(`has more than ${MAX_TESTS} tests`);
      const last = subtasks.at(-1);
      if (last) last.amount++;
    }
  }
  return { tests, subtasks };
}

const score = z.number().min(0).max(MAX_POINTS);
/** The tests of a subtask: how many, a regular expression, or their names. */
const chosen = z.union([z.int().min(1).max(MAX_TESTS), z.string(), z.array(z.string()).min(1).max(MAX_TESTS)]);
const parameters = z
  .array(
    z.union([
      z.tuple([score, chosen]),
      z.tuple([score, chosen, z.number()]),
      z.looseObject({ max_score: score, testcases: chosen, threshold: z.number().optional() }),
    ]),
  )
  .min(1)
  .max(MAX_GROUPS);
const GROUP_TYPES = ["GroupMin", "GroupMul", "GroupThreshold"];

/** The subtasks that task.yaml describes by a score type of CMS. */
function scored({ value, fault }: Task, amount: number, hasChecker: boolean): Subtask[] {
  const key = "score_type_parameters";
  const { score_type: type = "" } = value;
  const check = <T>(schema: z.ZodType<T>): T => {
    const { success, data, error } = schema.safeParse(value[key]);
    if (!success) throw fault([key, ...(error.issues[0]?.path ?? [])], `${key}: ${error.issues[0]?.message}`);
    return data;
  };
  if (amount === 0) throw fault(["n_input"], "n_input: there are no tests");
  if (type === "Sum") return [all(check(score) * amount, amount)];
  if (!GROUP_TYPES.includes(type)) throw fault(["score_type"], `score_type: ${type} is not supported`);
  const given = check(parameters).map((one, at) => {
    const [points, tests, threshold] = Array.isArray(one) ? one : [one.max_score, one.testcases, one.threshold];
    // Where nothing but the comparison of CMS gives outcomes, these are 0 or 1, of which the threshold of 1 accepts the latter.
    if (type === "GroupThreshold" && (hasChecker || threshold === undefined || threshold < 1))
      throw fault([key, at], `${key}: only thresholds of at least 1 in tasks without a checker are supported`);
    if (typeof tests === "string")
      throw fault([key, at], `${key}: a number of tests or a list of their names is required`);
    return { points, tests };
  });
  const isByNumber = given.every(({ tests }) => typeof tests === "number");
  const names = new Set<number>();
  let next = 0;
  const subtasks = given.map(({ points, tests }, at): Subtask => {
    if ((typeof tests === "number") !== isByNumber)
      throw fault([key, at], `${key}: all subtasks must have either numbers of tests or lists of names`);
    const own = typeof tests === "number" ? Array.from({ length: tests }, () => next++) : tests.map(numberOf);
    for (const test of own) {
      if (!(test < amount)) throw fault([key, at], `${key}: there are only ${amount} tests`);
      if (names.has(test)) throw fault([key, at], `${key}: a test in several subtasks is not supported`);
      names.add(test);
    }
    // The product of outcomes is their minimum only if each of them is 0 or 1.
    const only = type === "GroupMul" ? ({ passFail: true } as const) : {};
    return { group: { name: `subtask-${at + 1}`, rule: "min", depends: [], ...only }, points, tests: own };
  });
  if (names.size < amount) throw fault([key], `${key}: ${amount - names.size} tests are in no subtask`);
  return subtasks;
}

/** The number of a test by its name in CMS, such as 007. NaN for any other name. */
function numberOf(codename: string): number {
  return /^\d{3}$/.test(codename) ? Number(codename) : Number.NaN;
}

// --- programs -------------------------------------------------------------------------------------

/** Compares words line by line. */
const WHITE_DIFF: CheckerSpec = { type: "tokens", lineBreaks: true };
const NO_CHECKER = { checker: WHITE_DIFF, program: null };
/** Paths of the checker, without the ending of a source. CMS runs a program that the author has compiled; here, its source is needed. */
const CHECKERS = ["check/checker", "cor/correttore"];
/** Endings of sources in the languages of CMS. */
const SOURCES = [".c", ".cpp", ".cc", ".cs", ".go", ".hs", ".java", ".js", ".pas", ".php", ".py", ".rs"];
const HEADERS = [".h", ".hpp"];

function readChecker(
  files: PackageFiles,
  languages: Languages,
): { readonly checker: CheckerSpec; readonly program: Program | null } {
  const isChecker = (path: string) =>
    CHECKERS.some((one) => path === `${one}${SOURCES.find((end) => path.endsWith(end)) ?? ""}`);
  const [first, second] = [...files.keys()].filter(isChecker).sort((a, b) => extname(b).localeCompare(extname(a)));
  if (first === undefined) return NO_CHECKER;
  if (extname(first) === "") throw new PackageError(first, "is a compiled program: its source is required");
  if (second !== undefined && extname(second) !== "")
    throw new PackageError(second, `is a second checker besides ${first}`);
  const headers = [...files.keys()].filter(
    (path) => dirname(path) === dirname(first) && HEADERS.includes(extname(path)),
  );
  const own = new Map([first, ...headers].map((path) => [basename(path), path]));
  const found = toProgram({ path: first, files: renamed(files, own) }, languages);
  if (!found) throw new PackageError(first, "is in no installed language");
  const checker = { type: "program", interface: "cms", language: found.language.name, args: [] } as const;
  return { checker, program: found.program };
}

const GRADER = /^sol\/grader\.[^/]+$/;

/** The graders of CMS, which are compiled with submissions, with the headers beside them. Only those in C and C++ can be used. */
function readGraders(files: PackageFiles, languages: Languages): Harness | null {
  const graders = [...files.keys()].filter((path) => GRADER.test(path));
  const [first] = graders;
  if (first === undefined) return null;
  const used = graders.filter(isCompiledWith);
  if (used.length === 0) throw new PackageError(first, "only graders in C and C++ are supported");
  const headers = [...files.keys()].filter((path) => dirname(path) === "sol" && HEADERS.includes(extname(path)));
  return compiledWith([...new Set([...used, ...headers])], files, languages);
}

/** Names of the official solution without its ending. Nothing says what other solutions are for. */
const OFFICIAL = ["solution", "soluzione"];

/** @param task its name, which is that of each submitted file: a class in Java must have the same. */
function readSolutions(
  files: PackageFiles,
  task: string,
): Pick<ProblemPackage, "submissions" | "expectations" | "untried"> {
  const submissions: Source[] = [];
  const expectations = new Map<string, SubmissionExpectations>();
  for (const path of [...files.keys()].sort()) {
    if (dirname(path) !== "sol" || !SOURCES.includes(extname(path)) || GRADER.test(path)) continue;
    const isOfficial = OFFICIAL.includes(basename(path, extname(path)));
    const permitted = isOfficial ? (["AC"] as const) : FORMAT_VERDICTS;
    const timeLimit = isOfficial ? "lower" : "none";
    expectations.set(path, { expectations: [{ tests: null, permitted, required: FORMAT_VERDICTS, timeLimit }] });
    const name = `${task}${extname(path)}`;
    submissions.push({
      path,
      files: renamed(files, new Map([[toFilePath(name) === name ? name : basename(path), path]])),
    });
  }
  const validators = [...files.keys()].filter((path) => /^gen\/(valida|validator|validatore)\.[^/]+$/.test(path));
  return { submissions, expectations, untried: validators.map((path) => `${path}: validators of CMS are not run`) };
}
