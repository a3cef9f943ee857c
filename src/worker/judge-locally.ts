import { answering } from "../domain/answers.ts";
import type { Checked } from "../domain/check.ts";
import { type EndedTests, type Grading, grade, needsGrader } from "../domain/grading.ts";
import { type Harness, withHarness } from "../domain/harness.ts";
import {
  advance,
  contentsOfTest,
  type Definition,
  groupScores,
  type JudgementVerdict,
  limitsOfTest,
  MAX_CONTENT_BYTES,
  mostPoints,
  type RunResult,
  resultOfRun,
  type Stop,
  type TestMeta,
  type TestState,
  totalOf,
} from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { ProfileName, TestLimits } from "../domain/limits.ts";
import { internalError, type Outcome } from "../domain/outcome.ts";
import { withAdditions } from "../domain/program-options.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { StepSizeError } from "../sandbox/refusal.ts";
import type { Slot } from "../sandbox/slot.ts";
import type { ClaimedTest } from "../store/submissions/types.ts";
import { buildOutcome } from "../verdict/build-outcome.ts";
import { Artifacts, artifactKey } from "./artifacts.ts";
import { graderOn } from "./grader.ts";
import { type Plan, plan, planOfJudge } from "./plan.ts";
import { type CheckedSubmission, checkedSubmission } from "./program-checker.ts";
import { runStats } from "./run-stats.ts";
import { type CompileCache, type RunOptions, runSteps } from "./run-steps.ts";
import { TestChecker, type TestRunContext } from "./test-checker.ts";

/** An output that is given comes from no submission. */
const NO_SUBMISSION: CheckedSubmission = { language: "", source: Buffer.alloc(0) };

/** Memory for the compiled program and the compiled checker. */
const ARTIFACT_BYTES = 64 * 1_048_576;

/** The grader of a problem. */
export interface LocalGrader {
  readonly language: Language;
  readonly program: Program;
}

/** A problem together with the contents of its tests. */
export interface LocalProblem {
  readonly definition: Definition;
  /** The source of the checker; null if no checker of the problem is a program. */
  readonly checker: Program | null;
  /** The grader; null or absent if no group of the problem has one. */
  readonly grader?: LocalGrader | null;
  /** What the problem adds to its submissions. */
  readonly harness?: Harness | null;
  /** The input of a test, followed by its answers and its files. */
  readonly contents: (test: number) => readonly Buffer[];
  /** An earlier test of which this one is a repetition, so that its result holds for both; undefined or absent if each test runs. */
  readonly repeated?: (test: number) => number | undefined;
}

/** The result of a program on one test. In a multi-pass problem, `cpuUsec` is the CPU time of the pass that used the most. */
export interface LocalRun extends RunResult {
  readonly test: number;
  /** The line of standard error that says most about a failure: the first one of a compiler, or the last one of a program. */
  readonly errorLine?: string;
}

export interface LocalResult {
  readonly verdict: JudgementVerdict;
  readonly score: number;
  /** Why the grader gave no result; null if it gave one, or there is none. */
  readonly message: string | null;
  readonly states: readonly TestState[];
  readonly runs: readonly LocalRun[];
}

/** Judges programs without a service, one test after the other on one slot. Compiled programs are kept between calls. */
export class LocalJudge {
  readonly #slot: Pick<Slot, "run" | "runPair">;
  readonly #languages: Languages;
  readonly #artifacts = new Artifacts(ARTIFACT_BYTES, { parts: 1 });
  readonly #checker: TestChecker;
  readonly #where: TestRunContext;

  constructor(slot: Pick<Slot, "run" | "runPair">, languages: Languages) {
    this.#slot = slot;
    this.#languages = languages;
    const signal = new AbortController().signal;
    this.#where = {
      slot,
      accountId: "",
      submission: NO_SUBMISSION,
      signal,
      progress: null,
      missing: null,
      mayContinue: async () => true,
    };
    this.#checker = new TestChecker(languages, ({ language }) => this.#cacheFor(language));
  }

  /** Judges a program on all tests. @param onRun called with the result of each test. @throws SandboxError if the slot is lost. */
  async judge(
    submitted: Program,
    { language, profile, stop }: { readonly language: Language; readonly profile: ProfileName; readonly stop: Stop },
    { definition, checker, grader = null, harness = null, contents, repeated = () => undefined }: LocalProblem,
    onRun: (run: LocalRun) => void = () => {},
  ): Promise<LocalResult> {
    const program = withHarness(submitted, language, harness);
    const where = { ...this.#where, submission: checkedSubmission(language.name, submitted) };
    const states: TestState[] = definition.tests.map(() => "waiting");
    const runs: LocalRun[] = [];
    for (;;) {
      const next = advance(states, definition, { stop, mostQueued: 1 });
      for (const test of next.skip) states[test] = "skipped";
      if (next.verdict) {
        const needed = runs.filter(({ test }) => states[test] !== "skipped");
        const shares = states.map((_, test) => needed.find((one) => one.test === test)?.share ?? 0);
        const isGraded = grader && needsGrader({ definition, states });
        const grading = isGraded ? await this.grade({ definition, states, shares }, grader) : null;
        const { score } = totalOf(groupScores(definition, states, shares, grading));
        const ended = { states, runs: needed.sort((a, b) => a.test - b.test) };
        if (grading?.fault) return { verdict: "IE", score: 0, message: grading.fault, ...ended };
        return { verdict: next.verdict, score, message: null, ...ended };
      }
      for (const test of next.start) {
        const known = runs.find((run) => run.test === repeated(test));
        if (known) {
          states[test] = known.verdict;
          const again = { ...known, test };
          runs.push(again);
          onRun(again);
          continue;
        }
        const meta: TestMeta = definition.tests[test] ?? { name: "", group: "", points: 0, limits: {} };
        const { input: stdin, answers, files } = contentsOfTest(meta, contents(test));
        const options = withAdditions(program.options, { ...meta, testFiles: files });
        const answer = answering({ ...program, options }, language.name, meta.answerFile);
        const stated = limitsOfTest(definition, test);
        const limits = this.#languages.limitsForTest(language, profile, stated.limits);
        const cache = this.#cacheFor(language.name);
        const spec = meta.checker ?? definition.checker;
        const points = mostPoints(definition, test);
        const claimed = {
          judgementSeq: 0,
          points,
          checker: spec,
          checkerProgram: checker,
          harness,
          answers,
          ...stated,
          fault: definition.faults?.[0] ?? null,
        };
        const passes: Outcome[] = [];
        const on = { ...where, missing: answer.missing };
        const tested = await this.#checker.judge(claimed, stdin, on, async (input, interact) => {
          const steps = plan(language, limits, { ...answer.program, stdin: input });
          const pass = await this.#run(steps, { cache, interact });
          passes.push(pass);
          return pass;
        });
        if ("progress" in tested) throw new Error("the slot is for this judgement alone");
        const result = resultOfRun(tested.outcome, tested.checked);
        const cpuUsec = Math.max(...passes.map(({ metrics }) => metrics?.cpuUsec ?? 0));
        const errorLine = errorLineOf(result.verdict, tested.outcome);
        const ended: LocalRun = {
          ...{ test, ...result, cpuUsec: result.cpuUsec === null ? null : cpuUsec },
          ...(errorLine !== undefined && { errorLine }),
        };
        states[test] = ended.verdict;
        runs.push(ended);
        onRun(ended);
      }
    }
  }

  /** Grades the results of a judgement by the grader of its problem. @throws SandboxError if the slot is lost. */
  async grade(ended: EndedTests, { language, program }: LocalGrader): Promise<Grading> {
    const cache = this.#cacheFor(language.name);
    const run = graderOn(this.#slot, language, this.#languages, { program, ended, cache });
    const { grading, outcome } = await grade(ended, run, () => performance.now());
    if (outcome?.status !== "error") return grading;
    return { groups: {}, fault: outcome.result.errorMessage ?? "the sandbox failed" };
  }

  /** Runs an input validator on one input, with arguments and the files of the test. @throws SandboxError if the slot is lost. */
  async run(
    language: Language,
    limits: TestLimits,
    program: Program,
    stdin: Buffer,
    args: readonly string[],
    testFiles: readonly WorkFile[] = [],
  ): Promise<Outcome> {
    const programWithInput = { ...program, stdin, options: withAdditions(program.options, { args, testFiles }) };
    const steps = planOfJudge(language, this.#languages.limitsForChecker(language, limits), programWithInput);
    return await this.#run(steps, { cache: this.#cacheFor(language.name) });
  }

  /**
   * Runs a program of a package that makes a test, with the limits of a checker. Both of its streams can be as long as an input.
   * @throws SandboxError if the slot is lost.
   */
  async make(language: Language, program: Program, stdin: Buffer, args: readonly string[]): Promise<Outcome> {
    const stated = { execute: { stdout_bytes: MAX_CONTENT_BYTES } };
    const limits = this.#languages.limitsForChecker(language, { stated });
    const execute = { ...limits.execute, stderrBytes: MAX_CONTENT_BYTES };
    const programWithInput = { ...program, stdin, options: withAdditions(program.options, { args }) };
    const steps = planOfJudge(language, { ...limits, execute }, programWithInput);
    return await this.#run(steps, { cache: this.#cacheFor(language.name) });
  }

  /** Checks an output that is given, instead of that of a run. @throws SandboxError if the slot is lost. */
  async check(
    test: Omit<ClaimedTest, "judgementSeq" | "limits" | "harness" | "fault">,
    input: Buffer,
    output: Buffer,
  ): Promise<Checked> {
    const judgement = { verdict: "AC", cause: "normal_exit", actor: "runtime", signal: null } as const;
    const outcome: Outcome = {
      status: "completed",
      result: { ...judgement, exitCode: 0, errorMessage: null },
      output: { stdout: output, stderr: Buffer.alloc(0), integrity: "complete" },
      metrics: null,
      evidence: null,
    };
    const given = { ...test, judgementSeq: 0, limits: {}, harness: null, fault: null };
    const checked = await this.#checker.check(given, input, outcome, this.#where);
    return checked ?? { verdict: "IE", share: 0, message: null };
  }

  /** Runs the steps. A program that is too large for a box, together with its input, is an internal error; the slot is not lost. */
  async #run(steps: Plan, options: RunOptions): Promise<Outcome> {
    try {
      const reports = await runSteps(this.#slot, steps, options);
      const outcome = buildOutcome(reports);
      // Only these numbers tell whether standard output was cut, or only standard error.
      return outcome.status === "completed" ? { ...outcome, runStats: runStats(reports, steps) } : outcome;
    } catch (error) {
      if (error instanceof StepSizeError) return internalError("the program and its input are too large for one box");
      throw error;
    }
  }

  #cacheFor(language: string): CompileCache {
    return {
      owner: "",
      get: (compile) => this.#artifacts.get("", artifactKey(language, compile)),
      put: (compile, artifact) => this.#artifacts.put("", artifactKey(language, compile), artifact),
    };
  }
}

const MAX_ERROR_LINE = 200;
/** The most bytes at the beginning or the end of standard error in which the line is looked for. */
const MAX_SEARCHED = 16_384;

function errorLineOf(verdict: JudgementVerdict, { output }: Outcome): string | undefined {
  const isCompiler = verdict === "CE";
  if (!output || !(isCompiler || verdict === "RE" || verdict === "SIG")) return undefined;
  const text = isCompiler ? output.stderr.subarray(0, MAX_SEARCHED) : output.stderr.subarray(-MAX_SEARCHED);
  const lines = String(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const line = isCompiler ? (lines.find((one) => /error/i.test(one)) ?? lines[0]) : lines.at(-1);
  return line?.slice(0, MAX_ERROR_LINE);
}
