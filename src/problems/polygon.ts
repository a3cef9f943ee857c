import { basename, dirname, extname } from "node:path/posix";
import type { CheckerSpec, ProgramChecker } from "../domain/check.ts";
import type { Harness } from "../domain/harness.ts";
import { MAX_GROUPS, MAX_POINTS, MAX_TESTS, type TestGroup } from "../domain/judgement.ts";
import { throughFiles, toFilePath } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { compiledWith, isCompiledWith } from "./compiled-with.ts";
import {
  type Expectation,
  type ExpectedVerdict,
  FORMAT_VERDICTS,
  matcher,
  type SubmissionExpectations,
} from "./expectations.ts";
import type { Faults } from "./faults.ts";
import {
  checkTogether,
  contentOf,
  fileOf,
  type LazyFile,
  LazyFiles,
  PackageError,
  type PackageFiles,
  renamed,
} from "./files.ts";
import { limitsOfPackage } from "./limits.ts";
import { withUnixLineEnds } from "./line-ends.ts";
import type { ProblemPackage } from "./package.ts";
import { type Source, toProgram } from "./source.ts";
import type { InputTest, OutputTest, PackageTest } from "./tests.ts";
import { childOf, listOf, readXml, type XmlElement } from "./xml.ts";

/**
 * Packages of Polygon. problem.xml names all other files: tests, by patterns with numbers from 1, and programs. The checker, the interactor and
 * the validators are programs with testlib.h.
 */

export const POLYGON_FILE = "problem.xml";
const KIB = 1_024;
const MIB = 1_048_576;
const MAX_TITLE = 200;
/** The headers for each validator are found among all files of the package. */
const MAX_VALIDATORS = 16;

/** Reads a full package of Polygon, which contains its generated tests. @throws PackageError */
export function readPolygon(files: PackageFiles, languages: Languages, faults: Faults): ProblemPackage {
  const problem = readXml(files, POLYGON_FILE) as XmlElement;
  if (problem.name !== "problem") throw fault(problem, "is no problem");
  const judging = needed(problem, "judging");
  const runs = judging.attributes.get("run-count") ?? "1";
  if (runs !== "1") throw fault(judging, `run-count: ${runs} runs of a program are not supported, only 1`);
  const testset = testsetOf(judging);
  const assets = needed(problem, "assets");
  checkAssets(assets);
  const harness = readResources(problem, files, languages);
  const interactor = childOf(assets, "interactor");
  const checker = needed(assets, "checker");
  const { program, spec } = faults.attempt(() => readChecker(checker, interactor, files, languages), NO_CHECKER);
  const limits = limitsOf(testset, languages);
  const named = throughFiles(streamFile(judging, "input-file"), streamFile(judging, "output-file"));
  if (interactor && Object.keys(named).length > 0)
    throw fault(judging, "an interactive problem has neither an input file nor an output file");
  const contents = contentReader(files);
  const all = testsOf(testset, contents).map((one) => ({ ...one, meta: { ...one.meta, ...limits.meta, ...named } }));
  const { groups, tests, isScored } = scored(testset, all);
  const outputs = interactor || spec.type !== "program" ? [] : checkerTests(checker, contents, spec);
  const { untried, ...submissions } = readSolutions(assets, files, new Set(groups.map(({ name }) => name)));
  const validators = listOf(assets, "validators", "validator");
  if (validators.length > MAX_VALIDATORS) throw fault(assets, `has more than ${MAX_VALIDATORS} validators`);
  return {
    format: "polygon",
    name: problem.attributes.get("short-name") ?? "",
    title: titleOf(problem),
    scoring: isScored,
    timing: { limitSecs: limits.secs, acToLimit: 1, limitToTle: 1, resolutionSecs: 1 },
    definition: {
      checker: spec,
      groups,
      tests: tests.map(({ meta }) => meta),
      ...(!isScored && { passFail: true as const }),
      limits: limits.problem,
      ...(harness && { languages: Object.keys(harness) }),
    },
    checker: program,
    harness,
    tests,
    inputs: [...tests.map(toInput), ...validators.flatMap((one) => validatorTests(one, contents))],
    outputs,
    inputValidators: validators.map((one) => sourceOf(one, files)),
    validatorAccepts: 0,
    grader: null,
    stop: "never",
    ...submissions,
    untried: interactor && hasTests(checker) ? [...untried, CHECKER_UNTRIED] : untried,
  };
}

const CHECKER_UNTRIED = "the tests of the checker: a checker with an interactor runs only after it";

function fault({ line }: XmlElement, message: string): PackageError {
  return new PackageError(POLYGON_FILE, message, line);
}

function needed(element: XmlElement, name: string): XmlElement {
  const child = childOf(element, name);
  if (!child) throw fault(element, `${element.name} has no ${name}`);
  return child;
}

/** The value of an attribute that the element must have. */
function attribute(element: XmlElement, name: string): string {
  const value = element.attributes.get(name);
  if (value === undefined) throw fault(element, `${element.name} has no ${name}`);
  return value;
}

function titleOf(problem: XmlElement): string {
  const names = listOf(problem, "names", "name");
  const name = names.find(({ attributes }) => attributes.get("language") === "english") ?? names[0];
  const title = name?.attributes.get("value") ?? "";
  if (name && (title.length > MAX_TITLE || /\p{Cc}/u.test(title)))
    throw fault(name, `the name of a problem has at most ${MAX_TITLE} characters in one line`);
  return title;
}

/** The tests that judge submissions. Other sets, such as pretests, are parts of them or are for other purposes. */
function testsetOf(judging: XmlElement): XmlElement {
  const sets = judging.children.filter(({ name }) => name === "testset");
  const found = sets.find(({ attributes }) => attributes.get("name") === "tests") ?? (sets.length === 1 && sets[0]);
  if (!found) throw fault(judging, "no testset is named tests");
  return found;
}

/** Programs that change verdicts and that there is no equivalent of. */
function checkAssets(assets: XmlElement): void {
  for (const name of ["scorer", "arbiter", "strategy", "programs"]) {
    const found = childOf(assets, name);
    if (found) throw fault(found, `${name}: is not supported`);
  }
}

/** The resources that are compiled with submissions. */
function readResources(problem: XmlElement, files: PackageFiles, languages: Languages): Harness | null {
  const used = listOf(childOf(problem, "files"), "resources", "file").filter((file) =>
    listOf(file, "assets", "asset").some(({ attributes }) => /^solution$/i.test(attributes.get("name") ?? "")),
  );
  const paths = used.map((file) => {
    const path = attribute(file, "path");
    if (!files.has(path)) throw new PackageError(path, "is missing");
    const isCompiled = listOf(file, "stages", "stage").every(({ attributes }) => attributes.get("name") === "COMPILE");
    if (!isCompiled || !isCompiledWith(path))
      throw fault(
        file,
        `${path}: only sources and headers in C and C++ that are compiled with submissions are supported`,
      );
    return path;
  });
  return paths.length === 0 ? null : compiledWith(paths, files, languages);
}

/** The name of a file for the input or the output of submissions; empty for the standard stream. */
function streamFile(judging: XmlElement, name: "input-file" | "output-file"): string {
  const value = judging.attributes.get(name) ?? "";
  if (value === "" || value === (name === "input-file" ? "stdin" : "stdout")) return "";
  if (value.includes("/") || toFilePath(value) !== value) throw fault(judging, `${name}: is no plain name of a file`);
  return value;
}

function limitsOf(testset: XmlElement, languages: Languages) {
  const secs = amountOf(needed(testset, "time-limit")) / 1_000;
  const memory = amountOf(needed(testset, "memory-limit")) / MIB;
  if (secs === 0) throw fault(needed(testset, "time-limit"), "time-limit: must be positive");
  // Polygon does not limit the length of solutions.
  const given = { time_limit: secs, memory, code: Math.floor(languages.mostSourceBytes / KIB) };
  const names = { time_limit: "time-limit", memory: "memory-limit" };
  const { run, problem } = limitsOfPackage(
    given,
    {
      fault: ([, key], message) => {
        const name = names[key as keyof typeof names];
        return fault(needed(testset, name), message.replace(/^limits\.\w+/, name));
      },
    },
    languages,
  );
  return { secs, meta: { limits: run }, problem };
}

function amountOf(element: XmlElement): number {
  if (!/^\d{1,12}$/.test(element.text)) throw fault(element, `${element.name}: must be a whole number`);
  return Number(element.text);
}

/** @returns a function that makes the path of a test with a number: the pattern has one place for it, such as %d or %02d. */
function pathsOf(testset: XmlElement, name: string): (number: number) => string {
  const pattern = needed(testset, name);
  const [, before = "", zero, width = "", after = ""] = /^([^%]*)%(0?)([1-9]?)d([^%]*)$/.exec(pattern.text) ?? [];
  if (zero === undefined || (width !== "" && zero === ""))
    throw fault(pattern, `${name}: must have one number in the form %d or %02d`);
  return (number) => `${before}${String(number).padStart(Number(width), "0")}${after}`;
}

/** The tests of a set with their numbers. Their amount is bounded before any of them is read. */
function numbered(testset: XmlElement): { readonly number: number; readonly element: XmlElement }[] {
  const count = needed(testset, "test-count");
  const amount = amountOf(count);
  if (amount > MAX_TESTS) throw fault(count, `test-count: more than ${MAX_TESTS} tests`);
  const list = listOf(testset, "tests", "test");
  if (childOf(testset, "tests") && list.length !== amount)
    throw fault(count, `test-count: is ${amount}, but there are ${list.length} tests`);
  return Array.from({ length: amount }, (_, at) => ({ number: at + 1, element: list[at] ?? testset }));
}

/** Reads contents of tests. A file that several tests use is one object. */
function contentReader(files: PackageFiles): (path: string, hint?: string) => LazyFile {
  const read = new Map<LazyFile, LazyFile>();
  return (path, hint = "") => {
    if (!files.has(path)) throw new PackageError(path, `is missing${hint}`);
    const content = contentOf(files, path);
    const known = read.get(content) ?? withUnixLineEnds(content);
    read.set(content, known);
    return known;
  };
}
type Contents = ReturnType<typeof contentReader>;

/** A test before its points are known. */
interface ReadTest extends PackageTest {
  readonly path: string;
}

const GENERATED = ": only full packages contain the generated tests and the answers";
/** The group of tests that are in none. */
const UNGROUPED = "tests";

function testsOf(testset: XmlElement, contents: Contents): ReadTest[] {
  const [inputs, answers] = [pathsOf(testset, "input-path-pattern"), pathsOf(testset, "answer-path-pattern")];
  const tests = numbered(testset).map(({ number, element }): ReadTest => {
    const path = inputs(number);
    const [input, answer] = [contents(path, GENERATED), contents(answers(number), GENERATED)];
    checkTogether(path, [input.size, answer.size]);
    const given = element.attributes.get("group") || null;
    const group = given ?? UNGROUPED;
    if (!GROUP_NAME.test(group)) throw fault(element, GROUP_FAULT);
    const name = given === null ? basename(path) : `${group}/${basename(path)}`;
    return {
      path,
      meta: { name, group, points: pointsOf(element) ?? 0, limits: {} },
      parts: [input, answer],
    };
  });
  if (tests.length === 0) throw fault(testset, "has no tests");
  return tests;
}

/** A name with which the expectations of solutions can name the tests of the group. */
const GROUP_NAME = /^[^/*{},\p{Cc}]{1,64}$/u;
const GROUP_FAULT = "the name of a group has at most 64 characters, without / * { } and ,";

function pointsOf(element: XmlElement): number | undefined {
  const points = element.attributes.get("points");
  if (points === undefined) return undefined;
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(points) || Number(points) > MAX_POINTS)
    throw fault(element, `points: must be a number from 0 to ${MAX_POINTS}`);
  return Number(points);
}

/** Whether two amounts of points are equal, apart from the errors of binary fractions. */
function isEqual(a: number, b: number): boolean {
  return Math.abs(a - b) < 1e-6;
}

const POLICIES = ["each-test", "complete-group"];

/**
 * The groups, and the tests with their points. A group can depend on groups whose tests come later; as the core demands that a group
 * depends on earlier ones, the tests are then in the order of the dependencies.
 */
function scored(testset: XmlElement, all: readonly ReadTest[]) {
  const declared = new Map<string, XmlElement>();
  for (const element of listOf(testset, "groups", "group")) {
    const name = attribute(element, "name");
    if (declared.has(name)) throw fault(element, `the group ${name} is there twice`);
    declared.set(name, element);
    const policy = element.attributes.get("points-policy") ?? "each-test";
    if (!POLICIES.includes(policy)) throw fault(element, `points-policy: ${policy} is none of ${POLICIES.join(", ")}`);
  }
  const clashing = declared.get(UNGROUPED);
  if (clashing && all.some(({ meta }) => meta.group === UNGROUPED && !meta.name.includes("/")))
    throw fault(clashing, `the group ${UNGROUPED} has the name that tests without a group get`);
  const used = [...new Set(all.map(({ meta }) => meta.group))];
  if (used.length > MAX_GROUPS) throw fault(testset, `has more than ${MAX_GROUPS} groups`);
  const groups = inOrder(used, declared);
  const tests = groups
    .flatMap(({ name }) => {
      const element = declared.get(name);
      const own = all.filter(({ meta }) => meta.group === name);
      const sum = own.reduce((total, { meta }) => total + meta.points, 0);
      const points = (element && pointsOf(element)) ?? sum;
      if (isComplete(element))
        return own.map((one) => ({ ...one, meta: { ...one.meta, points: points / own.length } }));
      if (element && !isEqual(points, sum))
        throw fault(element, `points: are ${points}, but those of the tests of the group are ${sum}`);
      return own;
    })
    .sort((a, b) => (groups.some(({ depends }) => depends.length > 0) ? 0 : all.indexOf(a) - all.indexOf(b)));
  return { groups, tests, isScored: tests.some(({ meta }) => meta.points > 0) };
}

function isComplete(element: XmlElement | undefined): boolean {
  return element?.attributes.get("points-policy") === "complete-group";
}

/** The groups in an order in which each is after those on which it depends; apart from that, in the order of their first tests. */
function inOrder(used: readonly string[], declared: ReadonlyMap<string, XmlElement>): TestGroup[] {
  const dependsOf = new Map(
    used.map((name) => {
      const element = declared.get(name);
      const depends = listOf(element, "dependencies", "dependency").map((one) => {
        const other = attribute(one, "group");
        if (!declared.has(other)) throw fault(one, `there is no group ${other}`);
        return other;
      });
      // A group without tests passes in any case.
      return [name, [...new Set(depends)].filter((other) => used.includes(other))];
    }),
  );
  const ordered: TestGroup[] = [];
  const left = new Set(used);
  while (left.size > 0) {
    const name = [...left].find((one) => !dependsOf.get(one)?.some((other) => left.has(other)));
    if (name === undefined) {
      const [first = ""] = left;
      throw fault(declared.get(first) as XmlElement, `the group ${first} depends on itself, or on groups that do`);
    }
    left.delete(name);
    const depends = dependsOf.get(name) ?? [];
    // A complete group has its points only if all tests pass: a checker that gives a part of them is not supported there.
    const rule = isComplete(declared.get(name))
      ? ({ rule: "min", passFail: true } as const)
      : ({ rule: "sum" } as const);
    ordered.push({ name, ...rule, depends });
  }
  return ordered;
}

// --- programs -------------------------------------------------------------------------------------

/** Languages by the types of Polygon, such as cpp.g++17, of which the part before a point or a digit counts. */
const LANGUAGES: Readonly<Record<string, string>> = {
  cpp: "cpp",
  c: "c",
  java: "java",
  kotlin: "kotlin",
  "python.pypy2": "python2",
  "python.pypy3": "pypy",
  "python.2": "python2",
  "python.3": "python",
  pas: "pascal",
  csharp: "csharp",
  rust: "rust",
  go: "go",
  d: "d",
  js: "javascript",
  haskell: "haskell",
  ocaml: "ocaml",
  perl: "perl",
  php: "php",
  ruby: "ruby",
  scala: "scala",
};

/** The name of a language for a type; undefined if the type is absent, so that the name of the file decides. */
function languageOf(source: XmlElement): string | undefined {
  const type = source.attributes.get("type");
  if (type === undefined) return undefined;
  const names = Object.keys(LANGUAGES).filter((one) => type.startsWith(one) && !/^[a-z]/.test(type.slice(one.length)));
  // A type that is not known is no installed language.
  return LANGUAGES[names[0] ?? ""] ?? type;
}

/** The source of a program of the judge. Polygon compiles it in a directory with all files, of which it can include headers. */
function sourceOf(element: XmlElement, files: PackageFiles): Source {
  const path = attribute(needed(element, "source"), "path");
  if (!fileOf(files, path)) throw new PackageError(path, "is missing");
  const headers = headersBeside(path, files);
  return { path, files: renamed(files, new Map([[basename(path), path], ...headers.entries()])) };
}

/** The paths of the headers in the directory of a file, by their names. */
function headersBeside(path: string, files: PackageFiles): ReadonlyMap<string, string> {
  const directory = dirname(path);
  const headers = [...files.keys()].filter((one) => HEADERS.includes(extname(one)) && dirname(one) === directory);
  return new Map(headers.map((one) => [basename(one), one]));
}

const HEADERS = [".h", ".hh", ".hpp", ".hxx", ".inc"];

/** What a faulty version has in place of a checker that cannot be read. */
const NO_CHECKER: { readonly program: Program | null; readonly spec: CheckerSpec } = {
  program: null,
  spec: { type: "tokens" },
};

function readChecker(
  checker: XmlElement,
  interactor: XmlElement | undefined,
  files: PackageFiles,
  languages: Languages,
): { readonly program: Program; readonly spec: ProgramChecker } {
  const type = checker.attributes.get("type") ?? "testlib";
  if (type !== "testlib") throw fault(checker, `type: checkers of the type ${type} are not supported`);
  const source = sourceOf(checker, files);
  const spec = { type: "program", interface: "testlib", args: [] } as const;
  if (interactor) {
    const program = withInteractor(sourceOf(interactor, files), source, languages);
    return { program, spec: { ...spec, language: "multifile", interactive: true } };
  }
  const language = languageOf(needed(checker, "source"));
  const found = toProgram(source, languages, {
    ...(language !== undefined && { language }),
    entrypoint: basename(source.path),
  });
  if (!found) throw new PackageError(source.path, "is in no installed language");
  return { program: found.program, spec: { ...spec, language: found.language.name } };
}

/**
 * Compiles both, and runs the interactor and then, if it accepts, the checker on the file that the interactor has written, as Polygon does. What
 * the interactor writes to standard error counts only if it is the result. The commands are those of every image, because the program is stored.
 */
const BOTH = {
  "compile.sh": `for name in interactor checker; do
  g++ -std=gnu++20 -O2 -w -fwhole-program -include cstdint -idirafter /opt/assay/testlib -o $name $name.cpp || exit
done
`,
  "run.sh": `./interactor "$@" 2>interactor.log
code=$?
if [ $code -ne 0 ]; then cat interactor.log >&2; exit $code; fi
if ! grep -q '^ok' interactor.log; then echo 'FAIL the interactor ended without a result' >&2; exit 3; fi
exec ./checker "$@" </dev/null >/dev/null
`,
};

/** One program of an interactor and a checker, both in C++. */
function withInteractor(interactor: Source, checker: Source, languages: Languages): Program {
  const files = new Map<string, LazyFile>();
  for (const [name, text] of Object.entries(BOTH))
    files.set(name, { size: text.length, read: () => Buffer.from(text) });
  for (const [name, source] of Object.entries({ interactor, checker })) {
    if (!CPP_SOURCES.includes(extname(source.path)))
      throw new PackageError(source.path, "an interactor and its checker must be in C++");
    for (const path of source.files.keys())
      files.set(path === basename(source.path) ? `${name}.cpp` : path, fileOf(source.files, path) as LazyFile);
  }
  const given = { language: "multifile", entrypoint: "run.sh" };
  const found = toProgram({ path: interactor.path, files: new LazyFiles(files) }, languages, given);
  if (!found) throw new PackageError(interactor.path, "needs Multi-file programs, which are not installed");
  return found.program;
}

const CPP_SOURCES = [".cpp", ".cc", ".cxx"];

// --- what verify tries ----------------------------------------------------------------------------

/** A validator gets the set of tests and the group as arguments. */
function toInput({ path, meta, parts: [input] }: ReadTest): InputTest {
  const group = meta.name.includes("/") ? meta.group : undefined;
  return { path, input: input.read, args: { "": validatorArgs("tests", group) }, isValid: true };
}

function validatorArgs(testset: string | undefined, group: string | undefined): string[] {
  return [...(testset === undefined ? [] : ["--testset", testset]), ...(group === undefined ? [] : ["--group", group])];
}

function validatorTests(element: XmlElement, contents: Contents): InputTest[] {
  if (!hasTests(element)) return [];
  const testset = needed(element, "testset");
  const paths = pathsOf(testset, "input-path-pattern");
  return numbered(testset).map(({ number, element: one }) => {
    const verdict = attribute(one, "verdict");
    if (verdict !== "valid" && verdict !== "invalid") throw fault(one, `verdict: ${verdict} is not supported`);
    const path = paths(number);
    return {
      path,
      input: contents(path).read,
      args: { "": validatorArgs(one.attributes.get("testset"), one.attributes.get("group")) },
      isValid: verdict === "valid",
      validator: attribute(needed(element, "source"), "path"),
    };
  });
}

/** The results of checkers in their tests. A part of the points is more than none. */
const CHECKER_VERDICTS = new Map<string, OutputTest["verdict"]>(
  Object.entries({
    ok: "AC",
    points: "AC",
    "partially-correct": "AC",
    "wrong-answer": "WA",
    "presentation-error": "WA",
    "unexpected-eof": "WA",
    crashed: "IE",
  } as const),
);

function checkerTests(checker: XmlElement, contents: Contents, spec: ProgramChecker): OutputTest[] {
  if (!hasTests(checker)) return [];
  const testset = needed(checker, "testset");
  const [inputs, outputs, answers] = ["input", "output", "answer"].map((one) =>
    pathsOf(testset, `${one}-path-pattern`),
  );
  return numbered(testset).map(({ number, element }) => {
    const verdict = CHECKER_VERDICTS.get(attribute(element, "verdict"));
    if (verdict === undefined) throw fault(element, `verdict: ${attribute(element, "verdict")} is not supported`);
    const read = (paths: ((number: number) => string) | undefined) => contents(paths?.(number) ?? "").read;
    const path = outputs?.(number) ?? "";
    return { path, input: read(inputs), output: read(outputs), answer: read(answers), checker: spec, verdict };
  });
}

/** Whether a program has tests of its own. Polygon writes a set of tests also for a program that has none. */
function hasTests(program: XmlElement): boolean {
  const testset = childOf(program, "testset");
  return testset !== undefined && amountOf(needed(testset, "test-count")) > 0;
}

const ANY = [...FORMAT_VERDICTS];
interface Tag {
  readonly permitted: readonly ExpectedVerdict[];
  readonly required: readonly ExpectedVerdict[];
}
/** What the tags of solutions demand. A wrong format is WA, because testlib's verdict for it rejects the output. */
const TAGS: Readonly<Record<string, Tag>> = {
  main: { permitted: ["AC"], required: ANY },
  accepted: { permitted: ["AC"], required: ANY },
  rejected: { permitted: ANY, required: ["WA", "TLE", "RTE"] },
  "wrong-answer": { permitted: ["AC", "WA"], required: ["WA"] },
  "presentation-error": { permitted: ["AC", "WA"], required: ["WA"] },
  "time-limit-exceeded": { permitted: ["AC", "TLE"], required: ["TLE"] },
  "time-limit-exceeded-or-accepted": { permitted: ["AC", "TLE"], required: ANY },
  "time-limit-exceeded-or-memory-limit-exceeded": { permitted: ["AC", "TLE", "MLE"], required: ["TLE", "MLE"] },
  "memory-limit-exceeded": { permitted: ["AC", "MLE"], required: ["MLE"] },
};
const UNTRIED_TAGS: Readonly<Record<string, string>> = {
  failed: "its tag failed means that the checker fails",
  "do-not-run": "its tag is do-not-run",
};

function readSolutions(assets: XmlElement, files: PackageFiles, groups: ReadonlySet<string>) {
  const submissions: Source[] = [];
  const expectations = new Map<string, SubmissionExpectations>();
  const untried: string[] = [];
  for (const solution of listOf(assets, "solutions", "solution")) {
    const source = needed(solution, "source");
    const path = attribute(source, "path");
    if (!files.has(path)) throw new PackageError(path, "is missing");
    if (expectations.has(path)) throw fault(source, `the solution ${path} is there twice`);
    const tag = attribute(solution, "tag");
    const reason = Object.hasOwn(UNTRIED_TAGS, tag) ? UNTRIED_TAGS[tag] : undefined;
    if (reason !== undefined) {
      untried.push(`${path}: ${reason}`);
      continue;
    }
    const language = languageOf(source);
    const own = [toExpectation(solution, tag, null), ...listOf(solution, "extra-tags", "extra-tag").flatMap(extra)];
    expectations.set(path, {
      expectations: own,
      ...(language !== undefined && { language }),
      entrypoint: basename(path),
    });
    submissions.push({ path, files: renamed(files, new Map([[basename(path), path]])) });
  }
  return { submissions, expectations, untried };

  /** What a further tag demands of a group of the tests. Tags of other sets of tests, such as pretests, are about no test here. */
  function extra(element: XmlElement): Expectation[] {
    if ((element.attributes.get("testset") ?? "tests") !== "tests") return [];
    const group = element.attributes.get("group");
    if (group !== undefined && !groups.has(group)) throw fault(element, `there is no group ${group} with tests`);
    return [toExpectation(element, attribute(element, "tag"), group ?? null)];
  }
}

function toExpectation(element: XmlElement, tag: string, group: string | null): Expectation {
  const demanded = Object.hasOwn(TAGS, tag) ? TAGS[tag] : undefined;
  if (!demanded) throw fault(element, `tag: ${tag} is not supported`);
  if (group !== null) matcher(group);
  const isAccepted = demanded.permitted.length === 1;
  return { tests: group, ...demanded, timeLimit: isAccepted && group === null ? "lower" : "none" };
}
