import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Command, Option } from "commander";
import { ConfigError } from "../config.ts";
import { CHECKER_INTERFACES, CHECKER_TYPES, type CheckerType, type ProgramChecker } from "../domain/check.ts";
import { isAmong } from "../domain/harness.ts";
import { type Definition, STOPS, type Stop } from "../domain/judgement.ts";
import { PROFILE_NAMES, type ProfileName, type StepLimits } from "../domain/limits.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { type Makings, makeTests } from "../problems/makers.ts";
import { readProblem } from "../problems/package.ts";
import { readPackage } from "../problems/read.ts";
import { contentsOf } from "../problems/tests.ts";
import { Slot } from "../sandbox/slot.ts";
import { LocalJudge, type LocalProblem, type LocalResult } from "../worker/judge-locally.ts";
import { answer, sayStep, table } from "./answer.ts";
import { installedLanguages } from "./installed-languages.ts";
import { languageOf, type ProgramFlags, readProgram, withProgram } from "./read-program.ts";
import { DATA } from "./with-store.ts";

interface JudgeFlags extends ProgramFlags {
  readonly tests?: string;
  readonly problem?: string;
  readonly checker: string;
  readonly interface: ProgramChecker["interface"];
  readonly profile: ProfileName;
  readonly stop: Stop;
  readonly json?: boolean;
  readonly launcherSocket: string;
}

/** `assay judge PATH`: runs one program on the tests of a directory or of a problem package. The exit code is 0 only for AC. */
export function judgeCommand(): Command {
  return withProgram(new Command("judge"))
    .description(
      "Run one program on the tests of a directory or of a problem package, without a service, and print the verdict of each test. A test is a file NAME.in with its answer in NAME.ans or NAME.out. The exit code is 0 only for AC.",
    )
    .option("--tests <directory>", "directory of the tests")
    .option("--problem <directory|zip>", "problem package, with its checker and its time limit if it has one")
    .option("--checker <name>", `${CHECKER_TYPES.join(", ")}, or the source file of a checker`, "lines")
    .addOption(
      new Option("--interface <name>", "how a checker that is a program is called")
        .choices(CHECKER_INTERFACES)
        .default("kattis"),
    )
    .addOption(
      new Option(
        "--stop <when>",
        "which tests are skipped: those after the first failure, none, or those after a failure in their group",
      )
        .choices(STOPS)
        .default("never"),
    )
    .addOption(new Option("--profile <name>", "set of limits").choices(PROFILE_NAMES).default("judge"))
    .option("--json", "print the result as JSON")
    .option(...DATA)
    .addOption(new Option("--launcher-socket <path>").hideHelp().makeOptionMandatory())
    .action(judgeFile);
}

async function judgeFile(path: string, flags: JudgeFlags): Promise<void> {
  const languages = installedLanguages();
  const { language, program } = await readProgram(path, flags, languages);
  const { problem, makings } = await readLocal(flags, languages);
  if (flags.tests !== undefined)
    checkAnswers(problem, languages.limitsForTest(language, flags.profile, {}), flags.tests);
  const { languages: permitted } = problem.definition;
  if (permitted && !isAmong(permitted, language))
    throw new ConfigError(`${language.name} is no language of this problem, which has ${permitted.join(", ")}`);
  const slot = await Slot.open(flags.launcherSocket);
  try {
    const options = { language, profile: flags.profile, stop: flags.stop };
    const judge = new LocalJudge(slot, languages);
    if (makings) await makeTests(makings, judge, sayStep);
    const result = await judge.judge(program, options, problem);
    answer(flags.json, toJson(result, problem.definition), () => toText(result, problem.definition));
    process.exitCode = result.verdict === "AC" ? 0 : 1;
  } finally {
    slot.close();
  }
}

/** An answer that is longer than what a program can write is refused, because no output could be equal to it. @throws ConfigError */
function checkAnswers(
  { definition: { checker, tests }, contents }: LocalProblem,
  { execute: { stdoutBytes } }: StepLimits,
  directory: string,
): void {
  if (checker.type === "program" || checker.type === "regex") return;
  for (const [test, { name }] of tests.entries()) {
    const [, answer] = contents(test);
    if (answer && answer.length > stdoutBytes)
      throw new ConfigError(
        `${join(directory, name)}: the answer has more than the ${stdoutBytes} bytes that a program can write`,
      );
  }
}

interface ReadLocal {
  readonly problem: LocalProblem;
  /** The runs of programs of a package that make its tests. */
  readonly makings?: Makings | undefined;
}

async function readLocal({ tests, problem, ...flags }: JudgeFlags, languages: Languages): Promise<ReadLocal> {
  if ((tests === undefined) === (problem === undefined)) throw new ConfigError("give either --tests or --problem");
  return problem === undefined
    ? { problem: await readTests(tests ?? "", flags, languages) }
    : await readPackaged(problem, languages);
}

async function readPackaged(path: string, languages: Languages): Promise<ReadLocal> {
  const found = readProblem((await readPackage(path)).files, languages);
  const { definition, checker, grader, harness = null, tests, timing, makings } = found;
  const time = timing.limitSecs === null ? {} : { cpu_time_secs: timing.limitSecs };
  const limited = definition.tests.map((test) => ({ ...test, limits: { ...test.limits, ...time } }));
  const contents = (test: number) => contentsOf(tests[test]);
  return { problem: { definition: { ...definition, tests: limited }, checker, grader, harness, contents }, makings };
}

/** Reads the tests of a directory. They are sorted by name, and numbers in the names by their value. */
async function readTests(
  tests: string,
  { checker, ...flags }: Pick<JudgeFlags, "checker" | "interface">,
  languages: Languages,
): Promise<LocalProblem> {
  const files = await readdir(tests);
  const order = new Intl.Collator("en", { numeric: true });
  const names = files.flatMap((name) => (name.endsWith(".in") ? [name.slice(0, -3)] : [])).sort(order.compare);
  if (names.length === 0) throw new ConfigError(`${tests} has no file that ends with .in`);
  const read = names.map(async (name) => {
    const ending = [".ans", ".out"].find((one) => files.includes(name + one));
    if (!ending) throw new ConfigError(`${join(tests, name)}.in has no answer: ${name}.ans`);
    return await Promise.all([".in", ending].map((one) => readFile(join(tests, name + one))));
  });
  const contents = await Promise.all(read);
  const { spec, program } = await toChecker(checker, flags.interface, languages);
  return {
    definition: {
      checker: spec,
      groups: [{ name: "", rule: "sum", depends: [] }],
      tests: names.map((name) => ({ name, group: "", points: 1, limits: {} })),
      passFail: true,
    },
    checker: program,
    contents: (test) => contents[test] ?? [],
  };
}

async function toChecker(
  name: string,
  called: ProgramChecker["interface"],
  languages: Languages,
): Promise<{ readonly spec: Definition["checker"]; readonly program: Program | null }> {
  if ((CHECKER_TYPES as readonly string[]).includes(name)) {
    const type = name as CheckerType;
    return { spec: type === "floats" ? { type, absolute: 1e-6, relative: 1e-6 } : { type }, program: null };
  }
  const language = languageOf(name, undefined, languages);
  return {
    spec: { type: "program", interface: called, language: language.name, args: [] },
    program: { code: await readFile(name), stdin: Buffer.alloc(0) },
  };
}

function toJson({ verdict, score, message, states, runs }: LocalResult, { tests }: Definition) {
  const tested = tests.map(({ name }, test) => {
    const run = runs.find((one) => one.test === test);
    return {
      name,
      verdict: run?.verdict ?? null,
      status: run ? "completed" : states[test],
      message: run?.message ?? null,
      cpu_time_secs: run?.cpuUsec == null ? null : run.cpuUsec / 1e6,
      wall_time_secs: run?.wallNs == null ? null : run.wallNs / 1e9,
      memory_peak_bytes: run?.memoryBytes ?? null,
    };
  });
  return { verdict, score, ...(message !== null && { message }), tests: tested };
}

function toText(result: LocalResult, definition: Definition): string {
  const { tests } = toJson(result, definition);
  const rows = tests.map((one) => [
    one.name,
    one.verdict ?? "skipped",
    one.cpu_time_secs === null ? "" : one.cpu_time_secs.toFixed(3),
    one.memory_peak_bytes === null ? "" : (one.memory_peak_bytes / 1_048_576).toFixed(1),
    one.message ?? "",
  ]);
  const passed = tests.filter(({ verdict }) => verdict === "AC").length;
  const head = ["test", "verdict", "CPU s", "memory MiB", "message"];
  const message = result.message === null ? "" : `, ${result.message}`;
  return `${table(head, rows)}\n${result.verdict}: ${passed} of ${tests.length} tests passed${message}`;
}
