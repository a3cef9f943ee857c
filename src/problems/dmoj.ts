import { z } from "zod";
import type { CheckerSpec } from "../domain/check.ts";
import { MAX_POINTS, MAX_TESTS, type TestGroup } from "../domain/judgement.ts";
import { MAX_WORDS, type StreamFiles, toFilePath } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import {
  bridgeSpec,
  type FoundProgram,
  harnessOf,
  isInteractiveGrader,
  MODULE_CHECKERS,
  type PythonCall,
  type PythonChecker,
  pythonChecker,
  pythonProgram,
  pythonSpec,
  readProgram,
} from "./dmoj-programs.ts";
import type { Faults } from "./faults.ts";
import { checkTogether, contentOf, type LazyFile, type PackageError, type PackageFiles } from "./files.ts";
import { ceilingOf } from "./limits.ts";
import { MadeFile, type Making } from "./makers.ts";
import { Budget, type Match, namePattern, PatternError } from "./name-pattern.ts";
import type { ProblemPackage } from "./package.ts";
import type { PackageTest } from "./tests.ts";
import { type Read, readYaml } from "./yaml.ts";

export const DMOJ_FILE = "init.yml";

const names = z.union([z.string(), z.array(z.string()).min(1)]).transform((one) => [one].flat());
const seconds = z.number().positive();
const kibibytes = z.number().positive();
const word = z.union([z.string(), z.number(), z.boolean()]);
const checkerField = z.union([
  z.string(),
  z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()).nullish() }),
]);
const generatorField = z.union([
  names.transform((source) => ({ source })),
  z.strictObject({
    source: names,
    flags: z.array(z.string()).optional(),
    args: z.array(word).max(MAX_WORDS).optional(),
    language: z.string().optional(),
    time_limit: seconds.optional(),
    memory_limit: kibibytes.optional(),
    /** Accepted without effect, like every limit of a compiler: the profile has one. */
    compiler_time_limit: seconds.optional(),
  }),
]);
/** Keys that a case inherits from its batch, and a batch from the file. */
const inherited = {
  in: z.string().optional(),
  out: z.string().optional(),
  checker: checkerField.optional(),
  generator: generatorField.optional(),
  generator_args: z.array(word).max(MAX_WORDS).optional(),
  generator_in: z.string().optional(),
  binary_data: z.boolean().optional(),
  output_limit_length: z.int().positive().optional(),
  points: z.number().min(0).max(MAX_POINTS).optional(),
  /** Accepted without effect: it is for messages to users. */
  output_prefix_length: z.int().optional(),
  /** Accepted without effect: it is about the machine of the judge. */
  wall_time_factor: z.number().optional(),
  symlinks: z.record(z.string(), z.string()).optional(),
};
const oneCase = z.strictObject(inherited);
const testCase = z.strictObject({
  ...inherited,
  batched: z.array(oneCase).min(1).optional(),
  dependencies: z.array(z.int()).optional(),
});
const patterns = z.strictObject({
  input_format: z.string().optional(),
  output_format: z.string().optional(),
  case_points: z.array(z.number().min(0).max(MAX_POINTS)).max(MAX_TESTS).optional(),
});
const cases = z.array(testCase).min(1);
/** Either of both schemas, chosen by the form of the value, so that a fault has its place in the list. */
const casesOrPatterns = z.unknown().transform((value, context): z.output<typeof cases> | z.output<typeof patterns> => {
  const parsed = (Array.isArray(value) ? cases : patterns).safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) context.addIssue({ ...issue } as Parameters<typeof context.addIssue>[0]);
  return z.NEVER;
});
const initFile = z.strictObject({
  ...inherited,
  archive: z.string().optional(),
  test_cases: casesOrPatterns.optional(),
  pretest_test_cases: cases.nullish(),
  unbuffered: z.boolean().optional(),
  interactive: z
    .strictObject({
      files: names,
      lang: z.string().optional(),
      type: z.string().optional(),
      flags: z.array(z.string()).optional(),
      args_format_string: z.string().optional(),
      feedback: z.boolean().optional(),
      unbuffered: z.boolean().optional(),
      memory_limit: kibibytes.optional(),
      compiler_time_limit: seconds.optional(),
      /** Accepted without effect: the interactor has the limits of the profile. */
      preprocessing_time: seconds.optional(),
    })
    .optional(),
  signature_grader: z
    .strictObject({ entry: z.string(), header: z.string(), allow_main: z.boolean().optional() })
    .optional(),
  custom_judge: z.string().optional(),
  /** Accepted without effect: they are about the machine of the judge. */
  short_circuit: z.boolean().optional(),
  hints: z.array(z.string()).optional(),
});
type Init = Read<z.output<typeof initFile>>;
type Values = z.output<typeof oneCase>;

/** A part of init.yml with what it inherits. */
interface Part {
  readonly path: readonly (string | number)[];
  readonly values: Values;
  /** The number of the test on DMOJ, from 0, and of its batch, from 1; batch 0 has the tests that are in no batch. */
  readonly position: number;
  readonly batch: number;
  /** The points that the checker can give. */
  readonly points: number;
}

/** Checkers, of which all programs of a package are one. */
interface Checkers {
  readonly specOf: (part: Part) => CheckerSpec;
  readonly program: () => Program | null;
  readonly isInteractive: boolean;
}

/** The most generators of a package. */
const MAX_GENERATORS = 10;

/** Reads a package of DMOJ: init.yml with test data. Time and memory limits are not part of it. @throws PackageError */
export function readDmoj(files: PackageFiles, languages: Languages, faults: Faults): ProblemPackage {
  const init = readYaml(files, DMOJ_FILE, initFile, { version: "1.1" }) as Init;
  const { test_cases: given, pretest_test_cases: pretests, ...root } = init.value;
  const harness = faults.attempt(() => readHarness(init, files, languages), null);
  const checkers = faults.attempt(() => readCheckers(init, files, languages), NO_CHECKERS);
  const contents = readContents(init, files, languages);
  const tests: PackageTest[] = [];
  const outputs: ProblemPackage["outputs"][number][] = [];
  const checks: (() => void)[] = [];
  const groups = new Groups();
  const numbers = { position: 0, batch: 0 };
  /** @param forced the points of each case of a list of pretests. */
  const addCases = (key: string, prefix: string, cases: readonly z.output<typeof testCase>[], forced?: number) => {
    let batches = 0;
    for (const [at, { batched, dependencies = [], ...own }] of cases.entries()) {
      const path = [key, at];
      const values = { ...root, ...own };
      const points = forced ?? values.points ?? 1;
      if (batched) [batches, numbers.batch] = [batches + 1, numbers.batch + 1];
      for (const other of dependencies)
        if (!batched || other < 1 || other >= batches)
          throw init.fault([...path, "dependencies"], `dependencies: ${other} is not the number of an earlier batch`);
      const group = batched
        ? groups.batch(`${prefix}batch-`, batches, points, dependencies)
        : groups.plain(prefix, points);
      for (const [place, one] of (batched ?? [{}]).entries()) {
        // This is checked before the tests are read, because aliases of YAML let a short file have many tests.
        if (tests.length === MAX_TESTS) throw init.fault([key], `${key}: has more than ${MAX_TESTS} tests`);
        const where = batched ? [...path, "batched", place] : path;
        if (forced === undefined && one.points !== undefined && one.points !== points)
          throw init.fault([...where, "points"], "points: a batch can have points, but not a case in it");
        const batch = batched ? numbers.batch : 0;
        const part = { path: where, values: { ...values, ...one }, points, position: numbers.position++, batch };
        const checker = faults.attempt(() => checkers.specOf(part), STANDARD);
        const name = `${prefix}${batched ? `${at + 1}.${place + 1}` : `${at + 1}`}`;
        const share = points / (batched?.length ?? 1);
        const limits = outputLimit(part, init, languages);
        tests.push({
          meta: {
            name,
            group,
            points: share,
            limits,
            ...streamFiles(part, init),
            checker,
          },
          parts: faults.attempt(() => contents.of(part, name), NO_CONTENTS),
        });
        const [input, answer] = (tests.at(-1) as PackageTest).parts;
        checks.push(() => checkSizes(part, [input, answer], checker, limits.stdout_bytes, init));
        if (checkers.isInteractive || answer === EMPTY) continue;
        const test = {
          path: `${DMOJ_FILE}: test ${name}`,
          input: () => input.read(),
          answer: () => answer.read(),
          checker,
        };
        // A checker in Python can depend on the submission, and any checker can depend on its input alone.
        outputs.push({ ...test, output: test.answer, verdict: "AC", isHint: checker.type === "program" });
      }
    }
  };
  const cases = Array.isArray(given) ? given : matchedCases(given ?? {}, init, files);
  if (pretests?.some(({ batched }) => batched) && cases.some(({ dependencies }) => dependencies))
    throw init.fault(["pretest_test_cases"], "pretest_test_cases: with batches, dependencies are not supported");
  if (pretests) addCases("pretest_test_cases", "pretest-", pretests, 0);
  addCases("test_cases", "", cases);
  const check = () => {
    for (const one of checks) one();
  };
  if (contents.runs.length === 0) check();
  return {
    format: "dmoj",
    title: "",
    scoring: true,
    timing: { limitSecs: null, acToLimit: 1, limitToTle: 1, resolutionSecs: 1 },
    definition: {
      checker: STANDARD,
      groups: groups.all,
      tests: tests.map(({ meta }) => meta),
      ...(root.signature_grader && { languages: SIGNATURE_LANGUAGES }),
    },
    checker: faults.attempt(checkers.program, null),
    harness,
    tests,
    ...(contents.runs.length > 0 && { makings: { runs: contents.runs, check } }),
    inputs: [],
    // The checker must accept each answer.
    outputs,
    inputValidators: [],
    submissions: [],
    grader: null,
    stop: "never",
  };
}

/** The languages in which a signature can be graded, by the endings of their source files. */
const SIGNATURE_LANGUAGES = [".c", ".cpp"];

/** What is added to submissions. */
function readHarness(init: Init, files: PackageFiles, languages: Languages) {
  const { signature_grader: given, unbuffered = false } = init.value;
  const fileOf = (key: "entry" | "header", name: string) => {
    const found = pathOf(name, init, files);
    if (found === undefined)
      throw init.fault(["signature_grader", key], `signature_grader.${key}: ${name} is not in the package`);
    return contentOf(files, found);
  };
  const signature = given
    ? {
        entry: fileOf("entry", given.entry),
        header: { name: given.header, file: fileOf("header", given.header) },
        mayHaveMain: given.allow_main === true,
      }
    : null;
  const fail = (message: string) => init.fault(["signature_grader"], `signature_grader: ${message}`);
  return harnessOf({ signature, unbuffered }, languages, fail);
}

/** The path of a file, which can be in the archive. */
function pathOf(name: string, init: Init, files: PackageFiles): string | undefined {
  return [name, `${init.value.archive}/${name}`].find((one) => files.has(one));
}

/** The patterns of DMOJ. Each name that they match has one of the texts at the beginning or, with a dot before it, anywhere. */
const PATTERN = String.raw`.*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$`;
const DEFAULTS = {
  input_format: String.raw`^(?=.*?\.in|in)${PATTERN}`,
  output_format: String.raw`^(?=.*?\.out|out)${PATTERN}`,
};

type Id = string | number;
interface MatchedCase {
  in?: string;
  out?: string;
}

/** The cases whose files in the archive match patterns, in order of their batches and numbers. */
function matchedCases(given: z.output<typeof patterns>, init: Init, files: PackageFiles): z.output<typeof testCase>[] {
  const { archive } = init.value;
  const fail = (key: string, message: string) => init.fault(["test_cases", key], `test_cases: ${message}`);
  if (archive === undefined) throw fail("", "without a list of tests, an archive is required");
  const budget = new Budget();
  const inArchive = [...files.keys()].flatMap((path) =>
    path.startsWith(`${archive}/`) ? [path.slice(archive.length + 1)] : [],
  );
  const found = new Map<Id, Map<Id, MatchedCase>>();
  const batches = new Set<Id>();
  let cases = 0;
  for (const [key, side] of [
    ["input_format", "in"],
    ["output_format", "out"],
  ] as const)
    try {
      const match = namePattern(given[key] ?? DEFAULTS[key], budget);
      for (const name of inArchive) {
        const matched = match(name);
        if (!matched) continue;
        const [batch, number] = [idIn(matched, "batch"), idIn(matched, "case")];
        if (number === null) throw new PatternError(`finds no case in the name ${JSON.stringify(name)}`);
        if (batch !== null) batches.add(batch);
        const group = found.get(batch ?? number) ?? new Map<Id, MatchedCase>();
        found.set(batch ?? number, group);
        const one = group.get(number) ?? {};
        if (!group.has(number) && ++cases > MAX_TESTS) throw fail("", `has more than ${MAX_TESTS} tests`);
        if (one[side] !== undefined) throw fail(key, `${one[side]} and ${name} are files of the same test`);
        group.set(number, { ...one, [side]: name });
      }
    } catch (error) {
      throw error instanceof PatternError ? fail(key, `${key}: ${error.message}`) : error;
    }
  if (found.size === 0) throw fail("", `${archive} has no files of tests`);
  const points = given.case_points;
  if (points && points.length < found.size)
    throw fail("case_points", `case_points: has ${points.length} values for ${found.size} tests and batches`);
  return [...found]
    .sort(([a], [b]) => compareIds(a, b))
    .map(([id, group], at) => {
      const sorted = [...group].sort(([a], [b]) => compareIds(a, b)).map(([, one]) => one);
      const scored = points && { points: points[at] as number };
      if (batches.has(id)) return { batched: sorted, ...scored };
      if (sorted.length > 1)
        throw fail("", `${JSON.stringify(sorted[0])} and ${JSON.stringify(sorted[1])} are the same test`);
      return { ...sorted[0], ...scored };
    });
}

/** A group of a match, as a number if it is one. */
function idIn(match: Match, group: string): Id | null {
  const text = match.get(group) ?? null;
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Texts come before numbers. */
function compareIds(a: Id, b: Id): number {
  if (typeof a !== typeof b) return typeof a === "string" ? -1 : 1;
  return a < b ? -1 : 1;
}

/**
 * The groups of a package: one for each batch, and one for consecutive cases that are in no batch. Every group depends on the
 * earlier groups without points, the pretests. In a batch and in pretests, nothing runs after the first failure.
 */
class Groups {
  readonly all: TestGroup[] = [];
  readonly #pretests: string[] = [];
  #last = "";

  batch(prefix: string, number: number, points: number, dependencies: readonly number[]): string {
    const depends = dependencies.map((other) => `${prefix}${other}`);
    return this.#add(`${prefix}${number}`, "min", points, depends);
  }

  /** The group of a case that is in no batch. Consecutive cases with points share one, and so do consecutive cases without points. */
  plain(prefix: string, points: number): string {
    const kind = `${prefix}${points === 0 ? "pretests" : "cases"}`;
    if (this.#last.startsWith(kind)) return this.#last;
    return this.#add(`${kind}-${this.all.length + 1}`, "sum", points, []);
  }

  #add(name: string, rule: TestGroup["rule"], points: number, depends: readonly string[]): string {
    const breaks = rule === "min" || points === 0;
    this.all.push({ name, rule, depends: [...new Set([...this.#pretests, ...depends])], ...(breaks && { breaks }) });
    if (points === 0) this.#pretests.push(name);
    this.#last = name;
    return name;
  }
}

/** Compares words line by line. */
const STANDARD: CheckerSpec = { type: "tokens", lineBreaks: true };

/** What a faulty version has in place of checkers that cannot be read. */
const NO_CHECKERS: Checkers = { specOf: () => STANDARD, program: () => null, isInteractive: false };

/** The checkers for numbers, with the kind of error that each bounds by default. */
const FLOATS_MODES = new Map([
  ["floats", "default"],
  ["floatsabs", "absolute"],
  ["floatsrel", "relative"],
]);

const bridgedArgs = z.strictObject({
  files: names,
  lang: z.string(),
  type: z.string().optional(),
  flags: z.array(z.string()).optional(),
  args_format_string: z.string().optional(),
  feedback: z.boolean().optional(),
  time_limit: seconds.optional(),
  memory_limit: kibibytes.optional(),
  compiler_time_limit: seconds.optional(),
  /** Accepted without effect: a checker is always compiled once. */
  cached: z.boolean().optional(),
});

/** Reads the interactor or the grader of a package, or else its checkers. */
function readCheckers(init: Init, files: PackageFiles, languages: Languages): Checkers {
  const { interactive, custom_judge: judge, signature_grader: signature } = init.value;
  const deciding = Object.entries({ interactive, custom_judge: judge, signature_grader: signature }).filter(
    ([, one]) => one,
  );
  if (deciding.length > 1)
    throw init.fault([deciding[1]?.[0] ?? ""], `${deciding[1]?.[0]}: together with ${deciding[0]?.[0]}`);
  const problem = files.directory ?? "";
  const pythonOf = (
    { position, batch, points, values }: Part,
    checker: PythonChecker,
    grader: PythonCall["grader"] = null,
  ) => {
    const binary = values.binary_data === true;
    return pythonSpec({ checker, grader, points, position, batch, binary, problem });
  };
  if (interactive) {
    const fail = (message: string) => init.fault(["interactive"], `interactive: ${message}`);
    const {
      files: own,
      lang,
      flags,
      memory_limit,
      type = "default",
      args_format_string: format,
      unbuffered = true,
    } = interactive;
    const found = readProgram(files, { names: own, lang, flags, memoryKib: memory_limit, unbuffered }, languages, fail);
    const spec = bridgeSpec(found, { type, format, interactive: true, feedback: interactive.feedback === true }, fail);
    return { specOf: () => spec, program: () => found.program, isInteractive: true };
  }
  if (judge !== undefined) {
    const fail = (message: string) => init.fault(["custom_judge"], `custom_judge: ${message}`);
    const { program } = pythonProgram(files, [judge], languages, fail);
    const source = program.options?.files.at(-1)?.data.toString() ?? "";
    const isInteractive = isInteractiveGrader(source, fail);
    const graded = new Map<string, PythonChecker>();
    const called = new Set<string>();
    return {
      specOf: (part: Part) => {
        const key = keyOf(part, init);
        const checker = graded.get(key) ?? checkerOfGrader(part, init, files);
        graded.set(key, checker);
        if ("file" in checker.what) called.add(checker.what.file);
        if (called.size > MAX_PYTHON_FILES) throw fail(`more than ${MAX_PYTHON_FILES} checkers are files`);
        return pythonOf(part, checker, { file: judge, isInteractive });
      },
      program: () => pythonProgram(files, [...new Set([judge, ...called])], languages, fail).program,
      isInteractive,
    };
  }
  let bridged: FoundProgram | null = null;
  const pythonFiles = new Set<string>();
  let isPython = false;
  /** Reads a checker. Only one can be a program, but all checkers in Python are in one program. */
  const readChecker = (part: Part): ((part: Part) => CheckerSpec) => {
    const { name, args } = namedChecker(part);
    const place = [...part.path, "checker"];
    const fail = (message: string) => init.fault(place, `checker: ${message}`);
    if (name === "bridged") {
      if (bridged || isPython) throw fail("only one checker can be a program");
      const { spec, found } = readBridged(args, place, init, files, languages);
      bridged = found;
      return () => spec;
    }
    const isFile = name.includes(".");
    if (!isFile && !MODULE_CHECKERS.includes(name)) {
      const spec = comparisonOf(name, args, place, init);
      return () => spec;
    }
    if (bridged) throw fail("only one checker can be a program");
    if (!isPlain(args)) throw fail("args: a number is too large, or not finite");
    if (isFile && !files.has(name)) throw fail(`${name} is not in the package`);
    isPython = true;
    if (isFile) pythonFiles.add(name);
    if (pythonFiles.size > MAX_PYTHON_FILES) throw fail(`more than ${MAX_PYTHON_FILES} checkers are files`);
    const what = isFile ? { file: name } : { name };
    return (other) => pythonOf(other, { what, args });
  };
  const known = new Map<string, (part: Part) => CheckerSpec>();
  return {
    isInteractive: false,
    specOf: (part) => {
      const key = keyOf(part, init);
      const specOf = known.get(key) ?? readChecker(part);
      known.set(key, specOf);
      return specOf(part);
    },
    program: () => {
      if (bridged || !isPython) return bridged?.program ?? null;
      const fail = (message: string) => init.fault(["checker"], `checker: ${message}`);
      return pythonProgram(files, [...pythonFiles], languages, fail).program;
    },
  };
}

/** The checker of a part, with its arguments as a text. */
function keyOf({ path, values }: Part, init: Init): string {
  const key = JSON.stringify(values.checker ?? "standard");
  // Aliases of YAML let a short file have large arguments, which each test would repeat.
  if (key.length > MAX_CHECKER)
    throw init.fault([...path, "checker"], `checker: has more than ${MAX_CHECKER} characters`);
  return key;
}

function namedChecker({ values: { checker = "standard" } }: Part) {
  return typeof checker === "string" ? { name: checker, args: {} } : { ...checker, args: checker.args ?? {} };
}

/** The checker that a grader calls if it does not decide by itself. */
function checkerOfGrader(part: Part, init: Init, files: PackageFiles): PythonChecker {
  const { name, args } = namedChecker(part);
  const found = pythonChecker(name, args);
  const fail = (message: string) => init.fault([...part.path, "checker"], `checker: ${message}`);
  if (!found) throw fail(`${name} is not supported together with custom_judge`);
  if ("file" in found.what && !files.has(name)) throw fail(`${name} is not in the package`);
  if (!isPlain(args)) throw fail("args: a number is too large, or not finite");
  return found;
}

/** The most characters of a checker with its arguments. */
const MAX_CHECKER = 8_192;

/** The most checkers of a package that are files in Python. */
const MAX_PYTHON_FILES = 10;

/** Whether JSON represents a value of YAML exactly: a large number would be another one. */
function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isPlain);
}

/** A checker that a comparison of ours equals. */
function comparisonOf(
  name: string,
  args: Readonly<Record<string, unknown>>,
  place: readonly (string | number)[],
  init: Init,
): CheckerSpec {
  const comparison = (spec: CheckerSpec, ...known: readonly string[]) => {
    const other = Object.keys(args).find((arg) => !known.includes(arg));
    if (other !== undefined) throw init.fault([...place, "args", other], `checker: ${other} is not supported`);
    return spec;
  };
  if (name === "standard") return comparison(STANDARD);
  if (name === "identical") return comparison({ type: "exact" }, "pe_allowed");
  const mode = FLOATS_MODES.get(name);
  if (mode === undefined) throw init.fault(place, `checker: ${name} is not supported`);
  const { precision = 6, error_mode = mode } = args;
  const error = 10 ** -Number(precision);
  const isTolerance = Number.isInteger(precision) && error > 0 && Number.isFinite(error);
  if (!isTolerance || !["default", "absolute", "relative"].includes(`${error_mode}`))
    throw init.fault([...place, "args"], "checker: wrong arguments of floats");
  const absolute = error_mode === "relative" ? 0 : error;
  const relative = error_mode === "absolute" ? 0 : error;
  return comparison({ type: "floats", lineBreaks: true, absolute, relative }, "precision", "error_mode");
}

/** A checker that is a program of the package. */
function readBridged(
  args: Readonly<Record<string, unknown>>,
  place: readonly (string | number)[],
  init: Init,
  files: PackageFiles,
  languages: Languages,
) {
  const fail = (message: string, ...part: PropertyKey[]) =>
    init.fault([...place, "args", ...part], `checker.args: ${message}`);
  const parsed = bridgedArgs.safeParse(args);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const [arg = ""] = issue?.code === "unrecognized_keys" ? issue.keys : (issue?.path ?? []);
    throw fail(`${String(arg)}: ${issue?.message}`, arg);
  }
  const { type = "default", args_format_string: format, feedback = true, ...given } = parsed.data;
  const { files: names, lang, flags, time_limit: timeLimitSecs, memory_limit: memoryKib } = given;
  const found = readProgram(files, { names, lang, flags, timeLimitSecs, memoryKib }, languages, fail);
  return { found, spec: bridgeSpec(found, { type, format, interactive: false, feedback }, fail) };
}

/** The most links of a test. */
const MAX_LINKS = 8;
const STREAMS = { "/dev/stdin": "stdin", "/dev/stdout": "stdout", "/dev/stderr": "stderr" } as const;

/** The links that the program finds in its directory. Only links to its standard streams are possible. */
function streamFiles({ path, values: { symlinks = {} } }: Part, init: Init): { readonly streamFiles?: StreamFiles } {
  const links = Object.entries(symlinks);
  const fail = (message: string) => init.fault([...path, "symlinks"], `symlinks: ${message}`);
  if (links.length > MAX_LINKS) throw fail(`more than ${MAX_LINKS} links`);
  const streams = links.map(([name, target]) => {
    if (toFilePath(name) !== name || name.includes("/")) throw fail(`${name} is no valid name of a file`);
    if (!Object.hasOwn(STREAMS, target)) throw fail(`${name} leads to ${target}, which is no standard stream`);
    return [name, STREAMS[target as keyof typeof STREAMS]] as const;
  });
  return streams.length === 0 ? {} : { streamFiles: Object.fromEntries(streams) };
}

/** Where the inputs and the answers of tests come from. */
interface Contents {
  /** @param name of the test. */
  readonly of: (part: Part, name: string) => readonly [input: LazyFile, answer: LazyFile];
  /** The runs of generators that make contents. */
  readonly runs: readonly Making[];
}

function readContents(init: Init, files: PackageFiles, languages: Languages): Contents {
  const read = contentReader(init, files);
  const runs: Making[] = [];
  const generators = new Map<string, FoundProgram>();
  const generatorOf = ({ path, values: { generator } }: Part): FoundProgram | null => {
    if (!generator) return null;
    const key = JSON.stringify(generator);
    const known = generators.get(key);
    if (known) return known;
    const fail = (message: string) => init.fault([...path, "generator"], `generator: ${message}`);
    if (generators.size === MAX_GENERATORS) throw fail(`the package has more than ${MAX_GENERATORS} generators`);
    const { source, flags, language, time_limit, memory_limit } = { ...NO_OPTIONS, ...generator };
    const parts = { names: source, lang: language, flags, timeLimitSecs: time_limit, memoryKib: memory_limit };
    const found = readProgram(files, parts, languages, fail);
    generators.set(key, found);
    return found;
  };
  const of: Contents["of"] = (part, name) => {
    const { in: input, out: answer, generator, generator_args: args, generator_in: stdin, binary_data } = part.values;
    const given = args ? "generator_args" : stdin === undefined ? null : "generator_in";
    const fail = (message: string) => init.fault([...part.path, given ?? "in"], `${given}: ${message}`);
    if (given && !generator) throw fail("there is no generator");
    if (given && input !== undefined) throw fail("the test has an input, so that it needs no generator for it");
    const found = input === undefined || answer === undefined ? generatorOf(part) : null;
    if (!found) return [read(part, "in"), read(part, "out")];
    // An input that a generator makes is not changed, as on DMOJ.
    const stdout = input === undefined ? new MadeFile() : null;
    const stderr = answer === undefined ? new MadeFile(binary_data ? undefined : normalized) : null;
    runs.push({
      path: `${DMOJ_FILE}: test ${name}`,
      ...found,
      args: (args ?? (generator && "args" in generator ? generator.args : undefined) ?? []).map((one) =>
        argument(one, () => fail("a number is too large: write it as a text")),
      ),
      stdin: stdin === undefined ? EMPTY : read(part, "generator_in"),
      stdout,
      stderr,
    });
    return [stdout ?? read(part, "in"), stderr ?? read(part, "out")];
  };
  return { of, runs };
}

/** The options that a generator does not give, if it is only named. */
const NO_OPTIONS = { flags: undefined, language: undefined, time_limit: undefined, memory_limit: undefined };

/** An argument as Python writes it. */
function argument(value: string | number | boolean, fail: () => PackageError): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (!Number.isSafeInteger(value)) throw fail();
  return String(value);
}

/** Checks the sizes of a test. For a test of which a part is made, this happens afterwards. */
function checkSizes(
  { path, values }: Part,
  [input, answer]: readonly [LazyFile, LazyFile],
  checker: CheckerSpec,
  mostBytes: number,
  init: Init,
): void {
  if (checker.type === "program") {
    checkTogether(values.in ?? DMOJ_FILE, [input.size, answer.size]);
    return;
  }
  if (answer.size > mostBytes)
    throw init.fault([...path, "out"], `out: has more than the ${mostBytes} bytes that a program can write`);
}

/**
 * The output limit of a test: what the package states, or the default of the format, which the ceiling of the service can lower. A value
 * above the ceiling is a fault, because the output of a right program could exceed the limit of its run.
 */
function outputLimit({ path, values }: Part, init: Init, languages: Languages): { readonly stdout_bytes: number } {
  const { output_limit_length: bytes = DEFAULT_OUTPUT_BYTES } = values;
  const most = ceilingOf("output", languages) * 1_048_576;
  if (bytes > most && bytes !== DEFAULT_OUTPUT_BYTES)
    throw init.fault([...path, "output_limit_length"], `output_limit_length: at most ${most} bytes (ASSAY_CEILINGS)`);
  return { stdout_bytes: Math.min(bytes, most) };
}

/** The output limit of a case that states none. */
const DEFAULT_OUTPUT_BYTES = 25_165_824;

/** Reads the files of tests. A file that several tests use, either all as text or all as binary data, is one object. */
function contentReader(init: Init, files: PackageFiles): (part: Part, key: "in" | "out" | "generator_in") => LazyFile {
  const texts = new Map<LazyFile, LazyFile>();
  return ({ path, values }, key) => {
    const name = values[key];
    if (name === undefined) return EMPTY;
    const found = pathOf(name, init, files);
    if (found === undefined) throw init.fault([...path, key], `${key}: ${name} is not in the package`);
    const content = contentOf(files, found);
    if (values.binary_data === true || key === "generator_in") return content;
    const text = texts.get(content) ?? asText(content);
    texts.set(content, text);
    return text;
  };
}

const EMPTY: LazyFile = { size: 0, read: () => Buffer.alloc(0) };
/** What a faulty version has in place of contents that cannot be read. */
const NO_CONTENTS = [EMPTY, EMPTY] as const;

function asText({ size, read }: LazyFile): LazyFile {
  return { size, read: () => normalized(read()) };
}

/** Converts line ends to line feeds, and adds one at the end of a text that has none there. */
function normalized(content: Buffer): Buffer {
  const text = content.toString("latin1").replace(/\r\n?/g, "\n");
  return Buffer.from(text === "" || text.endsWith("\n") ? text : `${text}\n`, "latin1");
}
