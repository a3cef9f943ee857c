import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { type Chosen, choose, filesOf, filesOfSuites, needPacks } from "./runner/choose.ts";
import { Leftovers } from "./runner/leftovers.ts";
import {
  FULL_ONLY,
  FULL_SETTINGS,
  type Group,
  LONG_CHECKS,
  PHASES,
  PLAIN_PACKS,
  testSeconds,
  VARIANTS,
  type Variant,
  type VariantName,
} from "./runner/plan.ts";
import { type Failure, failedTests, type Results, readResults, summary } from "./runner/results.ts";

/**
 * Runs the checks and tests, for `assay test`, whose set-up (setup/command-test.sh) has the programs and files that tests need.
 *
 *   node test/run.ts needs [full | on VARIANT] [WORD]      prints what set-up has to prepare: kernels of variants, language packs
 *   node test/run.ts [full | on VARIANT] [WORD]
 *
 * Without a word it runs all files, in the phases of runner/plan.ts, with a part of a variant alongside. A word selects files by their
 * paths, or else tests by their names. `full` adds long tests, all variants of the chosen tests and the long checks of the launcher;
 * `on` runs only one variant.
 *
 * The exit code is 0 if all tests passed and none left anything, and 143 after a signal.
 */
const DIRECTORY = process.env.ASSAY_TEST_DIRECTORY ?? "";
/** More files than these are not repeated. */
const MOST_REPEATED = 8;

type Mode = "plain" | "full" | "on";

interface Options {
  readonly mode: Mode;
  readonly variants: readonly VariantName[];
  readonly word: string;
}

/** What was asked for cannot be done; 2 for words that are wrong. */
class Refusal extends Error {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

function readOptions(args: readonly string[]): Options {
  const [first, ...rest] = args;
  const [mode, words]: [Mode, readonly string[]] =
    first === "full" ? ["full", rest] : first === "on" ? ["on", rest.slice(1)] : ["plain", args];
  if (words.length > 1) throw new Refusal("'assay test' takes at most one word (see: ./assay help)", 2);
  const all = Object.keys(VARIANTS) as VariantName[];
  const named = all.filter((name) => name === rest[0]);
  if (mode === "on" && named.length === 0)
    throw new Refusal(`'assay test on' takes one of: ${all.join(" ")} (see: ./assay help)`, 2);
  const [word = ""] = words;
  const alongside = PHASES.flatMap(({ variantsAlongside = [] }) => variantsAlongside);
  const parts = word === "" ? alongside.filter((name) => VARIANTS[name].plain) : [];
  const variants = { plain: parts, full: all, on: named }[mode];
  return { mode, variants, word };
}

/** Why this machine does not support a variant. */
function lacks({ kernel }: Variant): string | null {
  const processor = process.env.ASSAY_TEST_PROCESSOR ?? process.arch;
  return kernel && processor !== "x64" ? "it needs a processor of the kind x86-64" : null;
}

const say = (text: string) => process.stderr.write(`assay: ${text}\n`);

/** What a process of run-files.ts, or a kernel with one, has to do. */
interface Work {
  readonly name: string;
  readonly files: readonly string[];
  readonly atOnce: number;
  readonly variant?: Variant;
  /** Printed when it ends, because others print at the same time. */
  readonly isAlongside?: boolean;
  /** For the message that no test was run. */
  readonly about: string;
}

interface Ended {
  readonly work: Work;
  readonly code: number;
  readonly results: Results | null;
}

class TestRun {
  readonly #options: Options;
  readonly #chosen: Chosen;
  readonly #processes = new Set<ChildProcess>();
  readonly #all: Results[] = [];
  readonly #failures: Failure[] = [];
  readonly #failedFiles = new Set<string>();
  readonly #failedVariants = new Set<VariantName>();
  readonly #ran = new Set<VariantName>();
  readonly #startedMs = performance.now();
  #variants: readonly VariantName[] = [];
  #works = 0;
  #isEmpty = false;
  #isInterrupted = false;
  #failed = false;

  constructor(options: Options, chosen: Chosen) {
    this.#options = options;
    this.#chosen = chosen;
  }

  /** Ends what runs. A signal arrives once: the shell that started this process forwards it. */
  interrupt(): void {
    this.#isInterrupted = true;
    for (const child of this.#processes) child.kill("SIGTERM");
  }

  async run(): Promise<number> {
    const { mode, word, variants } = this.#options;
    const leftovers = new Leftovers({
      data: process.env.ASSAY_DATA ?? "",
      instance: process.env.ASSAY_TEST_INSTANCE ?? "",
    });
    if (word === "" && mode !== "on" && (await this.#program([process.execPath, "test/check.ts"])) !== 0) {
      say("error: the checks failed; the tests were not run");
      return this.#isInterrupted ? 143 : 1;
    }
    const missing = variants.flatMap((name) => {
      const reason = lacks(VARIANTS[name]);
      return reason === null ? [] : [`not tested: ${VARIANTS[name].about}, because ${reason}`];
    });
    this.#variants = variants.filter((name) => lacks(VARIANTS[name]) === null && this.#filesOfVariant(name).length > 0);
    if (mode === "on" && this.#variants.length === 0)
      return this.#fail(
        `no test was run: ${word} is in none of ${variants
          .flatMap((name) => this.#suitesOf(name))
          .map((suite) => `test/${suite}`)
          .join(" ")}`,
      );

    const wasRepeated = await this.#runAll();
    if (this.#works === 0) return this.#fail("no test was run");
    if (this.#works > 1) process.stdout.write(summary(this.#all, performance.now() - this.#startedMs));
    this.#printSlowest();
    for (const line of [...this.#leftOut(), ...missing]) say(line);
    this.#printFailed(wasRepeated);
    const left = await leftovers.find();
    if (left.length > 0) {
      say(`the tests left behind:\n${left.map((line) => `    ${line}`).join("\n")}`);
      leftovers.end(left);
      this.#failed = true;
    }
    return this.#isInterrupted ? 143 : Number(this.#failed);
  }

  /** @returns whether failed tests were repeated. */
  async #runAll(): Promise<boolean> {
    const { mode, word } = this.#options;
    if (mode === "on") {
      for (const name of this.#variants) await this.#runVariant(name);
      return false;
    }
    await this.#runPhases();
    let wasRepeated = false;
    // Repeated files have the machine to themselves, and variants follow them only if they passed.
    do {
      if (!this.#failed) await this.#runVariants();
      await this.#endAlongside();
      if (await this.#repeatFailed()) wasRepeated = true;
    } while (!this.#failed && !this.#isInterrupted && this.#variants.some((name) => !this.#ran.has(name)));
    if (mode !== "full" || this.#failed) return wasRepeated;
    for (const check of word === "" && !this.#failed ? LONG_CHECKS : []) {
      if (this.#isInterrupted) break;
      say(`running: ${check.join(" ")}`);
      if ((await this.#program(check)) !== 0) this.#failed = true;
    }
    return wasRepeated;
  }

  /** The variants that run alongside the tests of this machine; null if there are none. */
  #alongside: Promise<void> | null = null;

  async #runPhases(): Promise<void> {
    for (const { group, variantsAlongside = [] } of PHASES) {
      if (this.#isInterrupted) return;
      const variants = variantsAlongside.filter((name) => this.#variants.includes(name));
      if (variants.length > 0) this.#alongside = this.#runAlongside(variants);
      const ended = await this.#startGroup(group);
      if (ended) this.#judge(ended);
    }
  }

  #startGroup(group: Group): Promise<Ended> | null {
    const files = filesOf(group, this.#chosen.files);
    if (files.length === 0) return null;
    const { word } = this.#options;
    const about = word === "" ? ` from the group ${group.name}` : `: no file or test name contains ${word}`;
    return this.#start({ name: group.name, files, atOnce: group.atOnce, about });
  }

  /** Runs variants one after the other. Those after the first do not run if a test has failed, because they would show nothing new. */
  async #runAlongside(names: readonly VariantName[]): Promise<void> {
    for (const name of names) this.#ran.add(name);
    for (const [at, name] of names.entries()) {
      if ((this.#failed && at > 0) || this.#isInterrupted) {
        for (const left of names.slice(at)) this.#ran.delete(left);
        return;
      }
      say(`alongside the tests: ${VARIANTS[name].about}`);
      this.#judge(await this.#start(this.#workOfVariant(name, true)), name);
    }
  }

  async #endAlongside(): Promise<void> {
    if (!this.#alongside) return;
    say("waiting for the variants that run alongside the tests");
    await this.#alongside;
    this.#alongside = null;
  }

  /** Runs the variants that have not begun, until a test fails. */
  async #runVariants(): Promise<void> {
    for (const name of this.#variants) {
      if (this.#failed || this.#isInterrupted) return;
      if (!this.#ran.has(name)) await this.#runVariant(name);
    }
  }

  async #runVariant(name: VariantName): Promise<void> {
    say(`running again: ${VARIANTS[name].about}`);
    this.#ran.add(name);
    this.#judge(await this.#start(this.#workOfVariant(name, false)), name);
  }

  #suitesOf(name: VariantName): readonly string[] {
    const { suites, plain } = VARIANTS[name];
    return this.#options.mode === "plain" && plain ? plain.suites : suites;
  }

  #filesOfVariant(name: VariantName): string[] {
    return filesOfSuites(this.#suitesOf(name), this.#chosen.files);
  }

  #workOfVariant(name: VariantName, isAlongside: boolean): Work {
    const { plain, ...full } = VARIANTS[name];
    const variant = this.#options.mode === "plain" ? { ...full, ...plain } : full;
    return {
      name,
      files: this.#filesOfVariant(name),
      atOnce: 1,
      variant,
      isAlongside,
      about: ` as the variant ${name}`,
    };
  }

  /**
   * In CI, repeats failed files with the machine to themselves. If they pass, the run is green, but its last lines name them, because
   * each has a defect, or its subject has. Many failures are not repeated.
   */
  async #repeatFailed(): Promise<boolean> {
    const [files, variants] = [[...this.#failedFiles].sort(), [...this.#failedVariants]];
    if (!this.#failed || this.#isEmpty || this.#isInterrupted || this.#options.word !== "" || !process.env.CI)
      return false;
    if (files.length > MOST_REPEATED || files.length + variants.length === 0) return false;
    this.#failed = false;
    this.#failedFiles.clear();
    this.#failedVariants.clear();
    if (files.length > 0) {
      say(`repeating: ${files.join(" ")}`);
      this.#judge(await this.#start({ name: "repeated", files, atOnce: 1, about: " again" }));
    }
    for (const name of variants) await this.#runVariant(name);
    return true;
  }

  #judge({ work, code, results }: Ended, variant?: VariantName): void {
    if (results) this.#all.push(results);
    this.#failures.push(...(results?.failures ?? []));
    const isEmpty = code === 0 && (results?.ran ?? 0) === 0;
    if (isEmpty) {
      say(`no test was run${work.about}`);
      this.#isEmpty = true;
    }
    if (code === 0 && !isEmpty) return;
    this.#failed = true;
    if (variant) this.#failedVariants.add(variant);
    else for (const file of results?.failedFiles ?? work.files) this.#failedFiles.add(file);
  }

  /** Starts a process with the work. Its output comes at its end if it runs alongside others. */
  async #start(work: Work): Promise<Ended> {
    const directory = `${DIRECTORY}/${++this.#works}-${work.name.replaceAll(" ", "-")}`;
    mkdirSync(directory);
    const results = `${directory}/results`;
    const env = this.#environment(work);
    const command = this.#command(work, results);
    const { kernel, patience = 1, seconds = 0 } = work.variant ?? {};
    let program = command;
    if (kernel) {
      // With longer limits for the programs of its slow machine. Its console is always a terminal.
      const slow = [process.execPath, "test/system/kernel/patient-languages.ts", "languages", `${directory}/languages`];
      if ((await this.#program([...slow, String(patience)])) !== 0) return { work, code: 1, results: null };
      if (!process.stdout.isTTY) env.NO_COLOR = "1";
      const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      writeFileSync(`${directory}/command`, [...words, ...command].map((word) => `${word}\0`).join(""));
      program = [kernel.boot, process.env[kernel.tools] ?? "", directory, process.cwd(), String(seconds)];
    }
    const output = work.isAlongside ? `${directory}/output` : null;
    const code = await this.#program(program, env, output);
    if (output) process.stdout.write(readFileSync(output));
    return { work, code, results: readResults(results) };
  }

  #environment({ variant }: Work): NodeJS.ProcessEnv {
    const { patience = 1, environment, kernel } = variant ?? {};
    const run = { ...process.env, ASSAY_TEST_PATIENCE: String(patience) };
    // The times of a slow kernel are no times of the files.
    return { ...run, ...environment?.(process.env), ...(kernel && { ASSAY_TEST_TIMES: "" }) };
  }

  #command({ files, atOnce, variant }: Work, results: string): string[] {
    const { patience = 1 } = variant ?? {};
    const timeoutMs = testSeconds(process.env.ASSAY_TEST_LONG === "yes") * 1_000 * patience;
    const options = ["--concurrency", String(atOnce), "--timeout", String(timeoutMs), "--results", results];
    // Files that run concurrently share a PostgreSQL server and more, which would take each of them two seconds of the processor.
    if (atOnce > 1 && files.length > 2) options.push("--setup", "./test/support/store/shared.ts");
    if (this.#chosen.name !== null) options.push("--name", this.#chosen.name);
    return [process.execPath, "test/runner/run-files.ts", ...options, ...files];
  }

  /** @returns the exit code; 1 after a signal. A program ends with this process, also if that is killed. */
  async #program(
    words: readonly string[],
    env: NodeJS.ProcessEnv = process.env,
    output: string | null = null,
  ): Promise<number> {
    const file = output === null ? "inherit" : openSync(output, "w");
    const child = spawn("setpriv", ["--pdeathsig", "TERM", "--", ...words], { env, stdio: ["ignore", file, file] });
    this.#processes.add(child);
    if (this.#isInterrupted) child.kill("SIGTERM");
    const [code] = await once(child, "close");
    this.#processes.delete(child);
    if (typeof file === "number") closeSync(file);
    return code ?? 1;
  }

  #fail(message: string): number {
    say(`error: ${message}`);
    return 1;
  }

  #printSlowest(): void {
    const { ASSAY_TEST_TIMES: times = "", ASSAY_DATA: data } = process.env;
    if (this.#options.word !== "" || this.#options.mode === "on" || times === "") return;
    copyFileSync(times, `${data}/log/test-times`);
    say(`slowest test files (wall time, CPU time; all of them in ${data}/log/test-times):`);
    const rows = readFileSync(times, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split("\t"));
    const slowest = rows.sort(([a], [b]) => Number(b) - Number(a)).slice(0, 15);
    for (const [wall = "", cpu = "", file] of slowest)
      process.stderr.write(`    ${wall.padStart(7)} s ${cpu.padStart(7)} s  ${file}\n`);
  }

  /** After the summary, so that the end of an output that was cut has them. */
  #printFailed(wasRepeated: boolean): void {
    const lines = failedTests(this.#failures);
    if (lines.length === 0) return;
    const passed = wasRepeated && !this.#failed;
    say(
      passed
        ? "these tests failed, and passed when they were repeated. Each is a defect whose cause must be found:"
        : "these tests failed:",
    );
    process.stderr.write(`${lines.join("\n")}\n`);
  }

  /** What only a full run has. */
  #leftOut(): string[] {
    if (this.#options.mode !== "plain") return [];
    const variants = this.#variants.flatMap((name) => {
      const { about, plain } = VARIANTS[name];
      return plain ? [`for 'assay test full': ${plain.leftOut}, on ${about}`] : [];
    });
    const { ASSAY_TEST_PACKS: packs = "" } = process.env;
    if (packs !== "")
      variants.unshift(`for 'assay test full packs': test/system/packs/ had only the language packs ${packs}`);
    if (this.#options.word === "")
      variants.unshift(
        `for 'assay test full': ${FULL_ONLY.flatMap(({ paths }) => paths.map((path) => `test/${path}`)).join(" ")}`,
      );
    return variants;
  }
}

/** Words for set-up: the kernels of variants, and `packs=NAMES`. */
function needs({ mode, variants }: Options, chosen: Chosen): string[] {
  for (const name of mode === "plain" ? [] : variants) {
    const reason = lacks(VARIANTS[name]);
    if (reason !== null) throw new Refusal(`this machine does not support the variant ${name}: ${reason}`, 1);
  }
  const kernels = variants.filter((name) => VARIANTS[name].kernel && lacks(VARIANTS[name]) === null);
  const isLong = mode === "full" || process.env.ASSAY_TEST_LONG === "yes";
  if (mode === "on" || !needPacks(chosen, isLong)) return kernels;
  return [...kernels, `packs=${mode === "full" ? "all" : PLAIN_PACKS}`];
}

try {
  const [first, ...rest] = process.argv.slice(2);
  const asksNeeds = first === "needs";
  const options = readOptions(asksNeeds ? rest : process.argv.slice(2));
  if (options.mode === "full") for (const [name, value] of Object.entries(FULL_SETTINGS)) process.env[name] ??= value;
  const chosen = choose(options.word, options.mode !== "plain");
  if (asksNeeds) {
    process.stdout.write(`${needs(options, chosen).join(" ")}\n`);
  } else {
    const run = new TestRun(options, chosen);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => run.interrupt());
    process.exitCode = await run.run();
  }
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  say(`error: ${error.message}`);
  process.exitCode = error.code;
}
