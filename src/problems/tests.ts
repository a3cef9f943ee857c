import { MAX_ANSWERED_TESTS } from "../domain/answers.ts";
import type { CheckerSpec } from "../domain/check.ts";
import {
  type Definition,
  MAX_INPUT_BYTES,
  MAX_POINTS,
  MAX_TEST_FILES,
  mostPoints,
  type TestGroup,
  type TestMeta,
} from "../domain/judgement.ts";
import { toFilePath } from "../domain/program-options.ts";
import type { WorkFile } from "../domain/report.ts";
import { defaultValidator } from "./default-validator.ts";
import { checkTogether, contentOf, type LazyFile, PackageError, type PackageFiles } from "./files.ts";
import { currentGroups, legacyGroups, type ScoredGroups, type TestSettings } from "./groups.ts";

/** The tests of a package in the order in which they run, and those of its validators. */
export interface PackageTests extends Pick<ScoredGroups, "graderFlags" | "stop"> {
  readonly groups: readonly TestGroup[];
  readonly tests: readonly PackageTest[];
  readonly inputs: readonly InputTest[];
  readonly outputs: readonly OutputTest[];
}

export interface PackageTest {
  readonly meta: TestMeta;
  /**
   * The input, the answer, and the files that `meta.files` names. If several tests use the same file, it is one object, so that it is read
   * and hashed once.
   */
  readonly parts: readonly [input: LazyFile, answer: LazyFile, ...files: LazyFile[]];
}

/** Reads the input, the answer and the files of a test. */
export function contentsOf(test: PackageTest | undefined): readonly Buffer[] {
  return test?.parts.map((part) => part.read()) ?? [];
}

/**
 * Finds tests that repeat an earlier one: they have the same files, because of links, and the same settings. Groups of olympiads often share
 * their tests in this way. The points of a test belong to its settings only as far as its checker gets them.
 * @returns the number of the first such test, by that of the repetition.
 */
export function repetitions(
  tests: readonly PackageTest[],
  definition: Pick<Definition, "tests" | "groups" | "passFail">,
): ReadonlyMap<number, number> {
  const numbers = new Map<LazyFile, number>();
  const firsts = new Map<string, number>();
  const repeated = new Map<number, number>();
  for (const [test, { meta, parts }] of tests.entries()) {
    for (const part of parts) if (!numbers.has(part)) numbers.set(part, numbers.size);
    const { name: _, group: __, points: ___, failedPoints: ____, ...settings } = definition.tests[test] ?? meta;
    const key = JSON.stringify([parts.map((part) => numbers.get(part)), mostPoints(definition, test), settings]);
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, test);
    else repeated.set(test, first);
  }
  return repeated;
}

/** An input for the input validators. */
export interface InputTest {
  readonly path: string;
  readonly input: () => Buffer;
  /** Files that the program of the validator finds beside it. */
  readonly files?: () => readonly WorkFile[];
  /** Arguments of the input validators by the name of the validator; the key `""` has those of all other validators. */
  readonly args: TestSettings["inputValidatorArgs"];
  /** Whether all input validators must accept it; otherwise, one must reject it. */
  readonly isValid: boolean;
  /** The path of the only input validator that gets it; absent: all get it. */
  readonly validator?: string;
}

/** An output that the output validator must accept or reject. */
export interface OutputTest {
  readonly path: string;
  readonly input: () => Buffer;
  readonly answer: () => Buffer;
  readonly output: () => Buffer;
  readonly checker: CheckerSpec;
  /** IE: the output validator itself must fail. */
  readonly verdict: "AC" | "WA" | "IE";
  /** Whether the format permits another verdict, which is then only mentioned. */
  readonly isHint?: boolean;
}

export interface TestOptions {
  /** The version of the format whose files describe the groups. */
  readonly groupFormat: "legacy" | "2025-09";
  /** Whether submissions are answers. */
  readonly answers: boolean;
  /** Whether tests can have files. */
  readonly hasFiles: boolean;
  readonly scoring: boolean;
  readonly writesScores: boolean;
  /** The custom output validator; null for the default one. */
  readonly validator: CheckerSpec | null;
  /** How many output validators the package has. */
  readonly validators: number;
  /** Arguments of the output validator for all tests. */
  readonly validatorArgs: readonly string[];
  /** The most bytes that a program can write. */
  readonly outputBytes: number;
  /**
   * Whether the output validator can check an output without a run of the program. It cannot if the problem is interactive or has
   * several passes.
   */
  readonly hasOutputs: boolean;
  /** Makes an error whose place is that of `validatorArgs`. */
  readonly fault: (message: string) => PackageError;
}

const OUTPUTS = { valid_output: "AC", invalid_output: "WA" } as const;

/** Reads the directory `data`. @throws PackageError for the first fault. */
export function readTests(files: PackageFiles, options: TestOptions): PackageTests {
  const namesIn = (directories: string, ending: string) => {
    const named = new RegExp(`^data/((?:${directories})/.+)\\.${ending}$`);
    const paths = options.hasFiles ? [...files.keys()].filter((path) => !TEST_FILES.test(path)) : [...files.keys()];
    return paths.flatMap((path) => named.exec(path)?.[1] ?? []).sort(byParts);
  };
  const names = namesIn("sample|secret", "(?:in|ans)").filter((name, at, all) => name !== all[at - 1]);
  if (!names.some((name) => name.startsWith("secret/"))) throw new PackageError("data/secret", "has no tests");
  if (options.answers && names.length > MAX_ANSWERED_TESTS)
    throw new PackageError(
      "data",
      `has more than ${MAX_ANSWERED_TESTS} tests, for each of which a submission has a file`,
    );
  const { scoring, writesScores } = options;
  const custom = options.validator !== null;
  const { settingsOf, groupOf, groupsOf } =
    options.groupFormat === "legacy"
      ? legacyGroups(files, { scoring, custom, writesScores, validators: options.validators })
      : currentGroups(files, scoring);
  const content = (name: string, ending: "in" | "ans" | "out") => {
    const path = `data/${name}.${ending}`;
    if (!files.has(path)) throw new PackageError(path, "is missing, but the test has other files");
    return contentOf(files, path);
  };
  const inputs: InputTest[] = [];
  const filesOf = testFiles(files, options.hasFiles);
  const addInput = (name: string, { inputValidatorArgs: args }: TestSettings, isValid: boolean) => {
    const own = filesOf(name);
    const read = () => own.map(([file, content]) => ({ name: file, data: content.read() }));
    const more = own.length > 0 && { files: read };
    inputs.push({ path: `data/${name}.in`, input: content(name, "in").read, args, isValid, ...more });
  };
  const tests = names.map((name): PackageTest => {
    const settings = settingsOf(name);
    const checker = checkerOf(options, settings);
    const { args } = settings;
    addInput(name, settings, true);
    const own = filesOf(name);
    const added = {
      ...(args.length > 0 && { args }),
      ...(own.length > 0 && { files: own.map(([file]) => file) }),
      ...(options.answers && { answerFile: answerFileOf(name) }),
    };
    const meta = { name, group: groupOf(name), points: 0, limits: {}, ...added, checker };
    const [input, answer] = [content(name, "in"), content(name, "ans")];
    if (own.reduce((sum, [, { size }]) => sum + size, input.size) > MAX_INPUT_BYTES)
      throw new PackageError(`data/${name}.files`, `with the input, they have more than ${MAX_INPUT_BYTES} bytes`);
    if (checker.type === "program") checkTogether(`data/${name}.in`, [input.size, answer.size]);
    else if (answer.size > options.outputBytes)
      throw new PackageError(
        `data/${name}.ans`,
        `has more than the ${options.outputBytes} bytes that a ${options.answers ? "submission can have" : "program can write"}`,
      );
    return { meta, parts: [input, answer, ...own.map(([, file]) => file)] };
  });
  for (const name of namesIn("invalid_input", "in")) addInput(name, settingsOf(name), false);
  const both = Object.keys(OUTPUTS).join("|");
  const outputs = [...new Set([...namesIn(both, "in"), ...namesIn(both, "out")])].map((name): OutputTest => {
    if (!options.hasOutputs)
      throw new PackageError(
        `data/${name}.in`,
        "an interactive or multi-pass problem has no outputs for its validator",
      );
    const settings = settingsOf(name);
    addInput(name, settings, true);
    return {
      path: `data/${name}.out`,
      input: content(name, "in").read,
      answer: content(name, "ans").read,
      output: content(name, "out").read,
      checker: checkerOf(options, settings),
      verdict: OUTPUTS[name.split("/")[0] as keyof typeof OUTPUTS],
    };
  });
  const amounts = new Map<string, number>();
  for (const { meta } of tests) amounts.set(meta.group, (amounts.get(meta.group) ?? 0) + 1);
  const { groups, pointsIn, graderFlags, stop } = groupsOf(amounts);
  for (const { points, fault } of pointsIn.values())
    if (!(points <= MAX_POINTS)) throw fault(`a test would have ${points} points, more than ${MAX_POINTS}`);
  const scored = tests.map((one) => ({ ...one, meta: withPoints(one.meta, pointsIn) }));
  return { groups, tests: scored, inputs, outputs, graderFlags, stop };
}

/** The file of a submission of answers for a test. @throws PackageError for a name that no file of a submission can have. */
function answerFileOf(test: string): string {
  const name = `${test}${ANSWER_ENDING}`;
  if (toFilePath(name) !== name)
    throw new PackageError(`data/${test}.in`, "has a name that no file of a submission can have");
  return name;
}
export const ANSWER_ENDING = ".out";

/** The path of a file of a test, as far as the directory of all its files. */
export const TEST_FILES = /^(data\/.+?)\.files\//;

/**
 * Finds the files of tests, by their names in the work directory.
 * @throws PackageError if there are files of no test, or the format has none; when the files of a test are asked for, beyond their bounds.
 */
function testFiles(files: PackageFiles, hasFiles: boolean): (test: string) => readonly [string, LazyFile][] {
  const byTest = new Map<string, [string, LazyFile][]>();
  for (const path of files.keys()) {
    const [directory = "", test = ""] = TEST_FILES.exec(path) ?? [];
    if (test === "") continue;
    if (!hasFiles) throw new PackageError(path, "the format legacy has no files of tests");
    if (!files.has(`${test}.in`)) throw new PackageError(path, "would not be read: there is no test of this name");
    const name = path.slice(directory.length);
    if (toFilePath(name) !== name) throw new PackageError(path, "is not a valid name of a file");
    const own = byTest.get(test) ?? [];
    byTest.set(test, own);
    if (own.push([name, contentOf(files, path)]) > MAX_TEST_FILES)
      throw new PackageError(`${test}.files`, `has more than ${MAX_TEST_FILES} files`);
  }
  return (test) => byTest.get(`data/${test}`) ?? [];
}

/** Compares the names of directories one by one, so that the tests of a group are not interrupted by another one. */
function byParts(a: string, b: string): number {
  const [left, right] = [a.split("/"), b.split("/")];
  const at = left.findIndex((part, index) => part !== right[index]);
  const [one, other] = [left[at], right[at]];
  return one === undefined || other === undefined ? left.length - right.length : one < other ? -1 : 1;
}

function withPoints(meta: TestMeta, pointsIn: ScoredGroups["pointsIn"]): TestMeta {
  const { points = 0, failedPoints, acceptedShare } = pointsIn.get(meta.group) ?? {};
  const { checker } = meta;
  return {
    ...meta,
    points,
    ...(failedPoints !== undefined && { failedPoints }),
    ...(checker?.type === "program" && acceptedShare !== undefined && { checker: { ...checker, acceptedShare } }),
  };
}

function checkerOf({ validator, validatorArgs, fault }: TestOptions, settings: TestSettings): CheckerSpec {
  const { validatorArgs: own } = settings;
  const args = [...validatorArgs, ...own];
  if (validator?.type === "program") return { ...validator, args };
  const checker = defaultValidator(args);
  if (typeof checker === "string") throw (own.length > 0 ? settings : { fault }).fault(checker);
  return checker;
}
