import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Conversations } from "../conversation/conversations.ts";
import { answering } from "../domain/answers.ts";
import type { ForeignApis } from "../domain/foreign-api.ts";
import { type EndedTests, grade } from "../domain/grading.ts";
import { withHarness } from "../domain/harness.ts";
import type { Language } from "../domain/language.ts";
import type { StepLimits } from "../domain/limits.ts";
import { type Meter, secondsSince } from "../domain/meter.ts";
import { internalError, MAX_COMPILE_OUTPUT_BYTES, type Outcome } from "../domain/outcome.ts";
import type { Progress } from "../domain/progress.ts";
import type { StepReports } from "../domain/report.ts";
import type { Submission } from "../domain/submission.ts";
import type { Tracer } from "../domain/tracer.ts";
import type { Languages } from "../languages/load.ts";
import { StepSizeError } from "../sandbox/refusal.ts";
import type { Slot } from "../sandbox/slot.ts";
import { StoreUnavailable } from "../store/database/errors.ts";
import type { AddOptions } from "../store/database/transactions.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";
import { buildOutcome } from "../verdict/build-outcome.ts";
import { outputOfCompile, withStoredStdout } from "../verdict/output.ts";
import { Artifacts, artifactKey } from "./artifacts.ts";
import { ComparerLost } from "./comparer.ts";
import { samplesOf } from "./convert-samples.ts";
import { graderOn } from "./grader.ts";
import { type ActiveRun, logFields } from "./leases.ts";
import { countLeftovers } from "./leftovers.ts";
import { isOwnStep, type Plan, plan } from "./plan.ts";
import { kindOf } from "./preparations.ts";
import { checkedSubmission } from "./program-checker.ts";
import { repeat } from "./repeat.ts";
import { runStats } from "./run-stats.ts";
import { type CompileCache, type Execute, type RunOptions, runSteps, runWithInput } from "./run-steps.ts";
import { hasNetwork, type NetworkClaim, type NetworkRuns } from "./sandboxes/network-runs.ts";
import { TestChecker, type Tested, type Yielded } from "./test-checker.ts";

export interface RunnerOptions {
  readonly store: Store;
  readonly conversations: Conversations;
  readonly languages: Languages;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly log: Logger;
  readonly meter: Meter;
  readonly tracer: Tracer;
  /** What judges the outcomes of submissions that came through other services' APIs. */
  readonly foreignApis: ForeignApis;
  /** Memory for compiled programs of earlier submissions; 0: none. */
  readonly artifactBytes: number;
  /** Whether the worker can serve submissions with a network. */
  readonly givesNetworks: () => boolean;
  /** Aborted when the worker stops. A submission of several runs then gives up its slot after its present run. */
  readonly stopping: AbortSignal;
}

/**
 * How a claimed submission leaves its slot. It has ended, and `checked` is null unless it is a run of a judgement; or it gives up the
 * slot between two of its runs, with its progress.
 */
export type SlotResult = Tested | Yielded;

/** Where a claim runs. */
interface OnSlot {
  /** What runs submissions with a network; null for others. */
  readonly networks: Pick<NetworkRuns, "run"> | null;
  readonly slot: Slot;
  readonly freeSlot: () => void;
  readonly signal: AbortSignal;
}

const STORE_RETRY_MS = 250;

/** After this time on a slot, a submission of several runs asks before each further run whether others wait. */
const UNASKED_MS = 100;
/** Additional time for each byte that the next run needs. To store and read the byte takes a twentieth of this time. */
const UNASKED_MS_PER_BYTE = 400 / 1_048_576;

/** Runs claimed submissions and stores their outcomes. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #artifacts: Artifacts;
  readonly #checker: TestChecker;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#artifacts = new Artifacts(options.artifactBytes);
    this.#checker = new TestChecker(options.languages, (owner) => this.#cacheFor(owner));
  }

  /**
   * The kind of the claim: a parked runtime of this kind (Preparation.kind) can serve it. No runtime has a kind that ends in "own", which
   * stands for programs with commands or limits of their own, live input, a network or an interactor.
   */
  kindOf(claim: Claim): string {
    const { submission, program: submitted, takesInput, test, grading } = claim;
    const { languages } = this.#options;
    const language = languages.resolve(submission.language);
    if (!language) return submission.language;
    const program = withHarness(submitted, language, test?.harness ?? null);
    const { compile } = plan(language, limitsOf({ submission, test }, language, languages), program);
    const isCompiled =
      compile !== undefined && this.#artifacts.has(submission.accountId, artifactKey(submission.language, compile));
    const own =
      takesInput ||
      claim.network !== null ||
      grading != null ||
      isOwnStep(program.options, test?.limits) ||
      (test?.checker.type === "program" && test.checker.interactive);
    return `${kindOf(language.name, submission.profile, isCompiled)}${own ? " own" : ""}`;
  }

  /**
   * Runs a claimed submission on the slot. Never rejects. When it resolves, the slot can run another submission.
   * @param freeSlot called if the slot can run another submission earlier, because only a comparison is left to do.
   * @param networks runs a submission with a network, for which room is reserved, in place of the slot.
   */
  async run(
    active: ActiveRun,
    slot: Slot,
    freeSlot: () => void,
    networks: Pick<NetworkRuns, "run"> | null = null,
  ): Promise<SlotResult> {
    const { workerId, meter, tracer } = this.#options;
    const { claim } = active;
    const { language, profile, createdAtMs, startedAtMs } = claim.submission;
    const [started, startMs] = [performance.now(), Date.now()];
    if (!claim.progress)
      meter.time("waited", { language, profile }, Math.max((startedAtMs ?? 0) - createdAtMs, 0) / 1000);
    const context = { slot, freeSlot, signal: active.abandoning.signal, networks };
    const result = await this.#result(claim, context, started);
    if (claim.live) await this.#options.conversations.stop(claim);
    const { outcome } = result;
    active.ended = true;
    meter.time("ran", { language, profile }, secondsSince(started));
    const ran = { outcome, workerId, attempt: claim.lease.attempt, startMs, endMs: Date.now() };
    tracer.ran(claim.submission, ran);
    return result;
  }

  /**
   * Stores what a run has led to. Never rejects. @param options whether an outcome may wait for those of other runs.
   * @returns true if the outcome or the progress was stored, or the run will be repeated. The store then notifies all workers.
   */
  async store({ claim, abandoned }: ActiveRun, result: SlotResult, options: AddOptions): Promise<boolean> {
    try {
      if (abandoned) return false;
      return await this.#withRetries(() =>
        "progress" in result ? this.#yield(claim, result.progress) : this.#endOnce(claim, result, options),
      );
    } catch (error) {
      // The lease expires, and a sweep then requeues or fails the submission.
      this.#options.log.error({ err: error, ...logFields(claim) }, "the result could not be stored");
      return false;
    } finally {
      if (claim.live) this.#options.conversations.forget(claim);
    }
  }

  /**
   * Stores a result. While the database is unavailable, this is tried again for the duration of a lease, so that no result is lost if
   * the database restarts. If the lease has been lost, storing has no effect.
   */
  async #withRetries(store: () => Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + this.#options.leaseMs;
    for (;;) {
      try {
        return await store();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || performance.now() > deadline) throw error;
        await sleep(STORE_RETRY_MS);
      }
    }
  }

  async #yield(claim: Claim, progress: Progress): Promise<boolean> {
    if (!(await this.#options.store.submissions.yieldSlot(claim.lease, progress))) return false;
    this.#options.meter.count("yielded", { language: claim.submission.language });
    return true;
  }

  /**
   * Stores the outcome of a run. A run with the profile `judge` that ended as an internal error is repeated instead, while attempts
   * remain, because the error proves nothing about the program. A run that takes input is not: its clients have talked with the program.
   */
  async #endOnce(claim: Claim, { outcome, checked, grading }: Tested, options: AddOptions): Promise<boolean> {
    const { store, log, meter, tracer } = this.#options;
    const { lease } = claim;
    const { language } = claim.submission;
    const { verdict } = outcome.result;
    // If `checked` is set, an interactor could not run, which is not a failure of the platform.
    const mayRepeat = outcome.status === "error" && !checked && !claim.takesInput;
    if (mayRepeat && (await store.submissions.requeue(lease))) {
      meter.count("repeated", { language });
      log.warn({ ...logFields(claim), attempt: lease.attempt }, "the platform failed this run; it will be repeated");
      return true;
    }
    const { judgementSeq } = claim.test ?? claim.grading ?? {};
    const judged = judgementSeq === undefined ? null : { checked, judgementSeq, ...(grading && { grading }) };
    if (!(await store.submissions.finish(lease, outcome, judged, options))) return false;
    meter.count("ended", { language, verdict });
    tracer.ended(claim.submission, outcome, Date.now());
    // A judgement has up to 500 runs.
    log[claim.test ? "debug" : "info"]({ ...logFields(claim), language, verdict, attempt: lease.attempt }, "ended");
    return true;
  }

  /**
   * Whether a submission may continue with its next run on the same slot. It gives the slot up if another submission comes
   * before it in fair order, or if this worker stops. For a while, it may continue without asking, because giving up the slot costs two
   * transactions: they store and read the bytes that the next run needs.
   */
  async #mayContinue({ lease }: Claim, startedMs: number, bytes: number): Promise<boolean> {
    const { store, stopping, log } = this.#options;
    if (stopping.aborted) return false;
    if (performance.now() - startedMs < UNASKED_MS + bytes * UNASKED_MS_PER_BYTE) return true;
    try {
      return await store.submissions.isNext(lease, this.#options.givesNetworks());
    } catch (error) {
      log.warn({ err: error }, "the queue could not be read; the submission gives up its slot");
      return false;
    }
  }

  async #result(claim: Claim, on: OnSlot, startedMs: number): Promise<SlotResult> {
    const { slot, signal, networks } = on;
    if (hasNetwork(claim)) return { outcome: await this.#withNetwork(claim, networks, signal), checked: null };
    const { program, submission, test } = claim;
    const cache = this.#cacheFor(submission);
    const mayContinue = (bytes: number) => this.#mayContinue(claim, startedMs, bytes);
    if (claim.grading) return await this.#grade(claim, claim.grading, on, cache);
    if (!test) return await this.#single(claim, on, cache, mayContinue);
    try {
      const { accountId, language } = submission;
      const checked = checkedSubmission(language, program);
      const answer = answering(program, language, test.answerFile);
      const { progress } = claim;
      const context = { ...on, accountId, submission: checked, progress, missing: answer.missing, mayContinue };
      const tested = await this.#checker.judge(test, program.stdin, context, (stdin, interact) =>
        this.#outcome({ ...claim, program: { ...answer.program, stdin } }, slot, cache, signal, interact),
      );
      return { ...tested, outcome: withStoredStdout(tested.outcome, this.#storedBytes(submission)) };
    } catch (error) {
      const isCompared = error instanceof ComparerLost;
      if (isCompared && !signal.aborted)
        this.#options.log.error({ err: error, ...logFields(claim) }, "a comparison could not run");
      else if (!isCompared) this.#lost(error, claim, signal, "the sandbox was lost during a check");
      const reason = isCompared ? error.message : "the sandbox was lost before the check ended";
      return { outcome: internalError(reason), checked: null };
    }
  }

  /** Runs the grader of a problem for each group that it grades. Each run is in a box of its own. */
  async #grade(claim: Claim, ended: EndedTests, { slot, signal }: OnSlot, cache: CompileCache): Promise<SlotResult> {
    const { languages } = this.#options;
    const language = languages.resolve(claim.submission.language);
    const unavailable = internalError(`the language of the grader, ${claim.submission.language}, is not available`);
    if (!language) return { outcome: unavailable, checked: null };
    try {
      const run = graderOn(slot, language, languages, { program: claim.program, ended, cache });
      const { outcome, grading } = await grade(ended, run, () => performance.now());
      if (outcome) countLeftovers(outcome, this.#options.meter);
      if (outcome?.status === "error") return { outcome, checked: null };
      return { outcome: outcome ?? internalError("no group needs the grader"), checked: null, grading };
    } catch (error) {
      if (error instanceof StepSizeError) return { outcome: internalError("the grader is too large"), checked: null };
      this.#lost(error, claim, signal, "the sandbox was lost while a judgement was graded");
      return { outcome: internalError("the sandbox was lost before the judgement was graded"), checked: null };
    }
  }

  /** Runs a submission that is no run of a judgement: once, or as often as it asks for. */
  async #single(
    claim: Claim,
    { slot, signal }: OnSlot,
    cache: CompileCache,
    mayContinue: (bytes: number) => Promise<boolean>,
  ): Promise<SlotResult> {
    const { foreign, progress } = claim;
    const api = foreign && this.#options.foreignApis.get(foreign.api);
    if (api === undefined) {
      const reason = "this release does not know the API through which the submission came";
      return { outcome: internalError(reason), checked: null };
    }
    const runOnce = (keeps: CompileCache) => this.#outcome(claim, slot, keeps, signal);
    const runs = runsOf(claim);
    // A note can cost a comparison of megabytes, so there is one for each run.
    const notes = new Map<Outcome["result"], number>();
    const noteOf = (outcome: Outcome) => {
      const note = notes.get(outcome.result) ?? (api && foreign ? api.note(outcome, foreign) : undefined);
      if (note !== undefined) notes.set(outcome.result, note);
      return note;
    };
    const isAccepted = (outcome: Outcome) => {
      const note = noteOf(outcome);
      return api && note !== undefined ? api.isAccepted(note) : outcome.result.verdict === "AC";
    };
    const ended =
      runs > 1
        ? await repeat({ runs, isAccepted, progress, cache, runOnce, mayContinue, signal })
        : { outcome: await runOnce(cache) };
    if ("progress" in ended) return ended;
    const foreignNote = noteOf(ended.outcome);
    return { outcome: { ...ended.outcome, ...(foreignNote !== undefined && { foreignNote }) }, checked: null };
  }

  /**
   * How much of the standard output of a run is stored, although its checker has got all of it: as much as a submission that is no run of
   * a judgement can have. A judgement of 500 tests can otherwise store gigabytes.
   */
  #storedBytes({ language: name, profile }: Submission): number {
    const { languages } = this.#options;
    const language = languages.resolve(name);
    return language ? languages.limitsFor(language, profile).execute.stdoutBytes : 0;
  }

  /** Turns any exception of the run into an internal error of the submission. */
  async #outcome(
    claim: Claim,
    slot: Slot,
    cache: CompileCache,
    signal: AbortSignal,
    interact?: Execute,
  ): Promise<Outcome> {
    const { languages, log, meter } = this.#options;
    const { submission, test } = claim;
    try {
      const language = languages.resolve(submission.language);
      if (!language) return internalError(`the language ${submission.language} is no longer available`);
      const program = withHarness(claim.program, language, test?.harness ?? null);
      const steps = plan(language, limitsOf(claim, language, languages), program);
      const reports = await this.#steps(claim, slot, steps, { cache, interact });
      this.#countRuntimes(submission.language, reports);
      const outcome = buildOutcome(reports);
      countLeftovers(outcome, meter);
      if (outcome.status === "completed") {
        const samples = samplesOf(reports, steps);
        const warnings = claim.test ? undefined : warningsOf(reports);
        const more = { ...(samples && { samples }), ...(warnings && { compileOutput: warnings }) };
        return { ...outcome, runStats: runStats(reports, steps), ...more };
      }
      log.error({ ...logFields(claim), reason: outcome.result.errorMessage }, "IE");
      return outcome;
    } catch (error) {
      if (error instanceof StepSizeError) return internalError("the program and its input are too large for one box");
      this.#lost(error, claim, signal, "the sandbox was lost");
      return internalError("the sandbox was lost before the run ended");
    }
  }

  /** Runs a submission with a network in a sandbox of its own. Turns any exception into an internal error. */
  async #withNetwork(
    claim: NetworkClaim,
    networks: Pick<NetworkRuns, "run"> | null,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { conversations, log, meter } = this.#options;
    if (!networks) return internalError("the worker cannot give a program a network");
    try {
      const conversation = claim.live ? conversations.begin(claim) : null;
      const outcome = await networks.run(claim, {
        signal,
        onOutput: (stream, bytes) => conversation?.write(stream, bytes),
      });
      countLeftovers(outcome, meter);
      if (outcome.status === "error") log.error({ ...logFields(claim), reason: outcome.result.errorMessage }, "IE");
      return outcome;
    } catch (error) {
      this.#lost(error, claim, signal, "the sandbox was lost");
      return internalError("the sandbox was lost before the run ended");
    }
  }

  /**
   * Reports a lost sandbox, unless the worker has closed its slot itself: the outcome is then discarded, and
   * src/worker/leases.ts reports a lost lease.
   */
  #lost(error: unknown, claim: Claim, { aborted }: AbortSignal, message: string): void {
    if (aborted) return;
    this.#options.meter.count("sandboxesLost", {});
    this.#options.log.error({ err: error, ...logFields(claim) }, message);
  }

  #countRuntimes(language: string, { compile, execute, compileCached }: StepReports): void {
    for (const report of [compileCached ? undefined : compile, execute])
      if (report) this.#options.meter.count("runtimes", { language, start: report.parkedRuntime ? "parked" : "cold" });
  }

  async #steps(
    claim: Claim,
    slot: Slot,
    steps: Plan,
    { cache, interact }: Pick<Required<RunOptions>, "cache" | "interact">,
  ): Promise<StepReports> {
    if (!claim.live) return await runSteps(slot, steps, { cache, interact });
    const conversation = this.#options.conversations.begin(claim);
    const onFailure = (error: unknown) =>
      this.#options.log.warn({ err: error, ...logFields(claim) }, "live input could not be read");
    const talk: Execute = (step, onOutput) => runWithInput(slot, conversation, onFailure, step, onOutput);
    return await runSteps(slot, steps, {
      cache,
      interact: claim.takesInput ? talk : interact,
      onOutput: (stream, bytes) => conversation.write(stream, bytes),
    });
  }

  #cacheFor({ accountId, language }: Pick<Submission, "accountId" | "language">): CompileCache {
    const { meter } = this.#options;
    return {
      owner: accountId,
      get: (compile) => {
        const artifact = this.#artifacts.get(accountId, artifactKey(language, compile));
        meter.count("compiles", { language, result: artifact ? "kept" : "ran" });
        return artifact;
      },
      put: (compile, artifact) => this.#artifacts.put(accountId, artifactKey(language, compile), artifact),
    };
  }
}

/** The limits of a submission: those of its profile, or for a run of a judgement also what the problem states. */
function limitsOf(
  { submission: { profile }, test }: Pick<Claim, "submission" | "test">,
  language: Language,
  languages: Languages,
): StepLimits {
  return test ? languages.limitsForTest(language, profile, test.limits) : languages.limitsFor(language, profile);
}

/** How often a submission runs at most. */
export function runsOf({ program }: Pick<Claim, "program">): number {
  return program.options?.runs ?? 1;
}

/**
 * The beginning of what the compiler wrote for a program that it compiled; undefined if it wrote nothing. It is copied, so that the rest
 * of the output does not stay in memory.
 */
function warningsOf({ compile, execute }: StepReports): Buffer | undefined {
  if (!compile || !execute) return undefined;
  const { stderr } = outputOfCompile(compile);
  return stderr.length > 0 ? Buffer.from(stderr.subarray(0, MAX_COMPILE_OUTPUT_BYTES)) : undefined;
}
