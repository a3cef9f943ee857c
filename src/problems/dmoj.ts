import { z } from "zod";
import type { CheckerSpec } from "../domain/check.ts";
import { MAX_POINTS, MAX_TESTS, type TestGroup } from "../domain/judgement.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { checkTogether, contentOf, type LazyFile, type PackageFiles, renamed } from "./files.ts";
import { ceilingOf } from "./limits.ts";
import type { ProblemPackage } from "./package.ts";
import { toProgram } from "./source.ts";
import type { PackageTest } from "./tests.ts";
import { type Read, readYaml } from "./yaml.ts";

export const DMOJ_FILE = "init.yml";

const checkerField = z.union([
  z.string(),
  z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()).optional() }),
]);
/** Keys that a case inherits from its batch, and a batch from the file. */
const inherited = {
  checker: checkerField.optional(),
  binary_data: z.boolean().optional(),
  output_limit_length: z.int().positive().optional(),
  points: z.number().min(0).max(MAX_POINTS).optional(),
  /** Accepted without effect: it is for messages to users. */
  output_prefix_length: z.int().optional(),
};
const data = { in: z.string().optional(), out: z.string().optional() };
const oneCase = z.strictObject({ ...inherited, ...data });
const testCase = z.strictObject({
  ...inherited,
  ...data,
  batched: z.array(oneCase).min(1).optional(),
  dependencies: z.array(z.int()).optional(),
});
const initFile = z.strictObject({
  ...inherited,
  ...data,
  archive: z.string().optional(),
  test_cases: z.array(testCase, "patterns are not supported: a list is required").min(1),
  /** Accepted without effect: they are about the machine of the judge. */
  wall_time_factor: z.number().optional(),
  unbuffered: z.boolean().optional(),
  short_circuit: z.boolean().optional(),
  hints: z.array(z.string()).optional(),
});
type Init = Read<z.output<typeof initFile>>;

/** A part of init.yml with what it inherits. */
interface Part {
  readonly path: readonly (string | number)[];
  readonly values: z.output<typeof oneCase>;
}

interface FoundChecker {
  readonly spec: CheckerSpec;
  readonly program: Program | null;
}

/** Names of languages by those of DMOJ without the version at the end, such as PY for PY3. */
const LANGUAGES: Readonly<Record<string, string>> = { PY: "python", CPP: "cpp", CLPP: "cpp", CLANG: "c" };

/** Arguments of a checker that do not change what it accepts. */
const HARMLESS = new Set(["feedback", "time_limit", "memory_limit", "compiler_time_limit"]);

/** Reads a package of DMOJ: init.yml with test data. Time and memory limits are not part of it. @throws PackageError */
export function readDmoj(files: PackageFiles, languages: Languages): ProblemPackage {
  const init = readYaml(files, DMOJ_FILE, initFile) as Init;
  const { test_cases: cases, ...root } = init.value;
  const checkers = new Map<string, FoundChecker>();
  const readChecker = (part: Part) => {
    const key = JSON.stringify(part.values.checker ?? "standard");
    const known = checkers.get(key);
    if (known) return known;
    const found = checkerOf(part, init, files, languages);
    // This is checked after each checker: otherwise, each case could name another program, and all of them would be read.
    if (found.program && [...checkers.values()].some(({ program }) => program))
      throw init.fault(["test_cases"], "test_cases: only one checker can be a program");
    checkers.set(key, found);
    return found;
  };
  const readContent = contentReader(init, files);
  const tests: PackageTest[] = [];
  const groups = new Groups();
  let batches = 0;
  for (const [at, { batched, dependencies = [], ...own }] of cases.entries()) {
    const path = ["test_cases", at];
    const values = { ...root, ...own };
    const points = values.points ?? 1;
    if (batched) batches++;
    for (const other of dependencies)
      if (!batched || other < 1 || other >= batches)
        throw init.fault([...path, "dependencies"], `dependencies: ${other} is not the number of an earlier batch`);
    const group = batched ? groups.batch(batches, points, dependencies) : groups.plain(points);
    for (const [place, one] of (batched ?? [{}]).entries()) {
      // This is checked before the tests are read, because aliases of YAML let a short file have many tests.
      if (tests.length === MAX_TESTS) throw init.fault(["test_cases"], `test_cases: has more than ${MAX_TESTS} tests`);
      const where = batched ? [...path, "batched", place] : path;
      if ("points" in one)
        throw init.fault([...where, "points"], "points: a batch can have points, but not a case in it");
      const part = { path: where, values: { ...values, ...one } };
      const checker = readChecker(part);
      const meta = {
        name: batched ? `${at + 1}.${place + 1}` : `${at + 1}`,
        group,
        points: points / (batched?.length ?? 1),
        limits: outputLimit(part, init, languages),
        checker: checker.spec,
      };
      const [input, output] = [readContent(part, "in"), readContent(part, "out")];
      if (checker.program) checkTogether(part.values.in ?? DMOJ_FILE, [input.size, output.size]);
      const most = meta.limits.stdout_bytes;
      if (checker.program === null && output.size > most)
        throw init.fault([...where, "out"], `out: has more than the ${most} bytes that a program can write`);
      tests.push({ meta, parts: [input, output] });
    }
  }
  const programs = [...checkers.values()].filter(({ program }) => program !== null);
  return {
    format: "dmoj",
    title: "",
    scoring: true,
    timing: { limitSecs: null, acToLimit: 1, limitToTle: 1, resolutionSecs: 1 },
    definition: { checker: STANDARD, groups: groups.all, tests: tests.map(({ meta }) => meta) },
    checker: programs[0]?.program ?? null,
    tests,
    inputs: [],
    // The checker must accept each answer.
    outputs: tests.map(({ meta: { name, checker = STANDARD }, parts: [input, answer] }) => ({
      path: `${DMOJ_FILE}: test ${name}`,
      input: input.read,
      answer: answer.read,
      output: answer.read,
      checker,
      verdict: "AC",
    })),
    inputValidators: [],
    submissions: [],
  };
}

/**
 * The groups of a package: one for each batch, and one for consecutive cases that are in no batch. Every group depends on the
 * earlier groups without points, the pretests.
 */
class Groups {
  readonly all: TestGroup[] = [];
  readonly #pretests: string[] = [];
  #last = "";

  batch(number: number, points: number, dependencies: readonly number[]): string {
    return this.#add(
      `batch-${number}`,
      "min",
      points,
      dependencies.map((other) => `batch-${other}`),
    );
  }

  /** The group of a case that is in no batch. Consecutive cases with points share one, and so do consecutive cases without points. */
  plain(points: number): string {
    const kind = points === 0 ? "pretests" : "cases";
    if (this.#last.startsWith(kind)) return this.#last;
    return this.#add(`${kind}-${this.all.length + 1}`, "sum", points, []);
  }

  #add(name: string, rule: TestGroup["rule"], points: number, depends: readonly string[]): string {
    this.all.push({ name, rule, depends: [...new Set([...this.#pretests, ...depends])] });
    if (points === 0) this.#pretests.push(name);
    this.#last = name;
    return name;
  }
}

/** The checkers for numbers, with the kind of error that each bounds by default. */
const FLOATS_MODES = new Map([
  ["floats", "default"],
  ["floatsabs", "absolute"],
  ["floatsrel", "relative"],
]);

/** Compares words line by line. */
const STANDARD: CheckerSpec = { type: "tokens", lineBreaks: true };

function checkerOf({ path, values }: Part, init: Init, files: PackageFiles, languages: Languages): FoundChecker {
  const { checker = "standard" } = values;
  const { name, args = {} } = typeof checker === "string" ? { name: checker } : checker;
  const place = [...path, "checker"];
  const builtIn = (spec: CheckerSpec, ...known: readonly string[]) => {
    const other = Object.keys(args).find((arg) => !known.includes(arg));
    if (other !== undefined) throw init.fault([...place, "args", other], `checker: ${other} is not supported`);
    return { spec, program: null };
  };
  if (name === "standard") return builtIn(STANDARD);
  if (name === "identical") return builtIn({ type: "exact" }, "pe_allowed");
  const mode = FLOATS_MODES.get(name);
  if (mode !== undefined) {
    const { precision = 6, error_mode = mode } = args;
    const error = 10 ** -Number(precision);
    const isTolerance = Number.isInteger(precision) && error > 0 && Number.isFinite(error);
    if (!isTolerance || !["default", "absolute", "relative"].includes(`${error_mode}`))
      throw init.fault([...place, "args"], "checker: wrong arguments of floats");
    const absolute = error_mode === "relative" ? 0 : error;
    const relative = error_mode === "absolute" ? 0 : error;
    return builtIn({ type: "floats", lineBreaks: true, absolute, relative }, "precision", "error_mode");
  }
  if (name === "bridged") return bridged(args, place, init, files, languages);
  throw init.fault(place, `checker: ${name} is not supported`);
}

const bridgedArgs = z.looseObject({
  files: z.union([z.string(), z.array(z.string())]),
  lang: z.string(),
  type: z.enum(["default", "testlib"]).optional(),
});

/** A checker that is a program. Both types are called in the same way, but report their decision in different ways. */
function bridged(
  args: Readonly<Record<string, unknown>>,
  place: readonly (string | number)[],
  init: Init,
  files: PackageFiles,
  languages: Languages,
): FoundChecker {
  const fail = (arg: string, text: string) => init.fault([...place, "args", arg], `checker.args: ${text}`);
  const parsed = bridgedArgs.safeParse(args);
  if (!parsed.success) throw fail(String(parsed.error.issues[0]?.path[0] ?? ""), parsed.error.issues[0]?.message ?? "");
  const { files: names, lang, type, ...others } = parsed.data;
  const other = Object.keys(others).find((arg) => !HARMLESS.has(arg));
  if (other !== undefined) throw fail(other, `${other} is not supported`);
  const missing = [names].flat().find((name) => !files.has(name));
  if (missing !== undefined) throw fail("files", `${missing} is not in the package`);
  const sources = renamed(files, new Map([names].flat().map((name) => [name, name])));
  const version = lang.replace(/\d+$/, "");
  const language = languages.resolve(LANGUAGES[version] ?? version.toLowerCase());
  const found = language && toProgram({ path: DMOJ_FILE, files: sources }, languages, { language: language.name });
  if (!found) throw fail("lang", `${lang} is no installed language`);
  const called = type === "testlib" ? "testlib" : "dmoj";
  const spec = { type: "program", interface: called, language: found.language.name, args: [] } as const;
  return { spec, program: found.program };
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
function contentReader(init: Init, files: PackageFiles): (part: Part, key: "in" | "out") => LazyFile {
  const texts = new Map<LazyFile, LazyFile>();
  return ({ path, values }, key) => {
    const name = values[key];
    if (name === undefined) return EMPTY;
    const found = [name, `${init.value.archive}/${name}`].find((one) => files.has(one));
    if (found === undefined) throw init.fault([...path, key], `${key}: ${name} is not in the package`);
    const content = contentOf(files, found);
    if (values.binary_data === true) return content;
    const text = texts.get(content) ?? asText(content);
    texts.set(content, text);
    return text;
  };
}

const EMPTY: LazyFile = { size: 0, read: () => Buffer.alloc(0) };

function asText({ size, read }: LazyFile): LazyFile {
  return { size, read: () => normalized(read()) };
}

/** Converts line ends to line feeds, and adds one at the end of a text that has none there. */
function normalized(content: Buffer): Buffer {
  const text = content.toString("latin1").replace(/\r\n?/g, "\n");
  return Buffer.from(text === "" || text.endsWith("\n") ? text : `${text}\n`, "latin1");
}
