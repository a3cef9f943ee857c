import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { EgressRecord } from "../../domain/egress/egress-record.ts";
import { type NetworkPolicy, narrow, whyNotNarrower } from "../../domain/egress/policy.ts";
import type { Limits } from "../../domain/limits.ts";
import { internalError, type Outcome } from "../../domain/outcome.ts";
import { lowered } from "../../domain/program-options.ts";
import type { TeardownReport } from "../../domain/report.ts";
import { beyondCapacity } from "../../domain/sandboxes/host.ts";
import { SANDBOX_LIMITS, type SandboxLimits } from "../../domain/sandboxes/sandbox.ts";
import type { Egress, SandboxNetwork } from "../../egress/egress-thread.ts";
import type { Release } from "../../fairness/budget.ts";
import type { Languages } from "../../languages/load.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedNetwork } from "../../store/submissions/networks.ts";
import type { Claim } from "../../store/submissions/types.ts";
import { withSandbox } from "../../verdict/evidence.ts";
import { withoutByteOrderMark } from "../plan.ts";
import { AttributedBox } from "./attributed-box.ts";
import type { AttachedBox, BoxReport, BoxStep, HeldBox, OnOutput, SandboxEngine } from "./engine.ts";
import { newToken, type SandboxKeeper, unlessFull } from "./keeper.ts";
import { executionOutcome } from "./outcome.ts";
import { type ExecutionSteps, stepsOf } from "./steps.ts";

/** How long a submission waits for room before another worker may have it. No program with the profile `agent` may occupy a slot for less time. */
const PLACE_MS = 10_000;
/** How often it looks for room of which nothing has told it, such as that of a connection. */
const LOOK_MS = 500;
/** The only execution in the sandbox. */
const EXECUTION = 1;
/** What a sandbox has above the limits of its only execution, so that the program reaches its own limit and not that of the sandbox. */
const [MORE_BYTES, MORE_PROCESSES] = [64 * 1_048_576, 8];
/** How often, in the time of a lease, a run looks whether an operator has narrowed its bound. */
const LOOKS_PER_LEASE = 3;
const STORE_RETRY_MS = 250;

export interface NetworkRunsOptions {
  readonly store: Pick<Store, "egress" | "submissions">;
  readonly keeper: Pick<SandboxKeeper, "capacity" | "reserveRun" | "onRoom">;
  readonly engine: Pick<SandboxEngine, "hold">;
  readonly egress: Pick<Egress, "register">;
  readonly languages: Pick<Languages, "resolve" | "limitsFor">;
  readonly leaseMs: number;
  readonly log: Logger;
}

export type NetworkClaim = Claim & { readonly network: ClaimedNetwork };

export function hasNetwork(claim: Claim): claim is NetworkClaim {
  return claim.network !== null;
}

export interface NetworkRunOptions {
  /** Kills the program when it is aborted. */
  readonly signal: AbortSignal;
  /** Receives the output of the program while it runs. */
  readonly onOutput: OnOutput;
}

/** What a submission runs, and in which sandbox. */
interface Planned {
  readonly limits: SandboxLimits;
  readonly steps: ExecutionSteps;
}

/**
 * Runs submissions with a network: each in a sandbox of its own, as the only execution in it. Such a sandbox has no row in the database, and lives as long as
 * the run. For the proxy and for the leases of bytes, its id is that of the submission.
 */
export class NetworkRuns {
  readonly #options: NetworkRunsOptions;

  constructor(options: NetworkRunsOptions) {
    this.#options = options;
  }

  /**
   * Reserves room for the sandbox, and waits for it for a time.
   * @returns gives the room back; undefined if there was none in time, or the signal was aborted.
   */
  async place(claim: NetworkClaim, signal: AbortSignal): Promise<Release | undefined> {
    const planned = this.#planned(claim);
    if (typeof planned === "string") return () => {}; // `run` says why nothing runs
    const untilMs = performance.now() + PLACE_MS;
    while (!signal.aborted) {
      const release = this.#options.keeper.reserveRun(claim.submission.accountId, planned.limits);
      if (release) return release;
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return undefined;
      await this.#room(Math.min(leftMs, LOOK_MS), signal);
    }
    return undefined;
  }

  /** Resolves when there may be room, after this time, or when the signal is aborted. */
  async #room(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const forget = this.#options.keeper.onRoom(() => over.abort());
    try {
      await sleep(ms, undefined, { signal: AbortSignal.any([over.signal, signal]) });
    } catch {
      // aborted
    } finally {
      forget();
    }
  }

  /**
   * Runs the program, for which room is reserved. What it has reached is stored when this resolves.
   * @throws if the platform could not run it.
   */
  async run(claim: NetworkClaim, { signal, onOutput }: NetworkRunOptions): Promise<Outcome> {
    const planned = this.#planned(claim);
    if (typeof planned === "string") return internalError(planned);
    const { egress, engine, log } = this.#options;
    const { id, accountId, projectId } = claim.submission;
    const { policy, leased } = claim.network;
    const first = await this.#narrowed(claim, policy);
    const version = first === policy ? 1 : 2;
    const network = await egress.register({
      token: newToken(),
      sandboxId: id,
      accountId,
      projectId,
      policy: { version, network: first },
      used: leased,
    });
    const narrowing = this.#narrowWhile(claim, network);
    const ran: { box: HeldBox | null; outcome: Outcome | null; isGone: boolean } = {
      box: null,
      outcome: null,
      isGone: false,
    };
    try {
      const box = await unlessFull(() => engine.hold(planned.limits, accountId, network.token));
      ran.box = box;
      if (box.controlsMissing.length > 0) throw new Error(`controls are missing: ${box.controlsMissing.join("; ")}`);
      const attached = new AttributedBox(await box.attach(), network);
      try {
        const { outcome, isGone } = await execute(planned, { box, attached, signal, onOutput });
        ran.outcome = outcome;
        ran.isGone = isGone;
      } finally {
        attached.close();
      }
    } finally {
      clearInterval(narrowing);
      const record = await network.take(EXECUTION, ran.isGone);
      const removed = await ran.box?.end().catch((error: unknown) => {
        log.error({ err: error, submission: id }, "the removal of the box of a submission could not be proven");
      });
      await network.close();
      await this.#storeEgress(id, record);
      ran.outcome &&= proven(ran.outcome, ran.box, removed ?? null);
    }
    return ran.outcome ?? internalError("the run was lost");
  }

  /** @returns why nothing can run, as a text. It never throws. */
  #planned(claim: NetworkClaim): Planned | string {
    try {
      return this.#plan(claim);
    } catch (error) {
      this.#options.log.error({ err: error, submission: claim.submission.id }, "a submission could not be planned");
      return "the program could not be planned";
    }
  }

  #plan({ submission, program: { code, stdin, options } }: NetworkClaim): Planned | string {
    const { languages, keeper } = this.#options;
    const language = languages.resolve(submission.language);
    if (!language) return `the language ${submission.language} is no longer available`;
    const profile = languages.limitsFor(language, submission.profile);
    const execute = lowered(profile.execute, options?.limits ?? {});
    // The compiler has at most the memory that the program could have, so that a submission takes no more room for its compiler.
    const preparing = profile.compile ? lowered(profile.compile, options?.compileLimits ?? {}) : profile.execute;
    const prepare = { ...preparing, memoryBytes: Math.min(preparing.memoryBytes, profile.execute.memoryBytes) };
    const most = (of: (limits: Limits) => number) => Math.max(of(execute), of(prepare));
    const limits: SandboxLimits = {
      memoryBytes: most(({ memoryBytes }) => memoryBytes) + MORE_BYTES,
      processes: most(({ processes }) => processes) + MORE_PROCESSES,
      diskBytes: Math.min(
        most(({ workBytes, tmpBytes }) => workBytes + tmpBytes),
        SANDBOX_LIMITS.diskBytes.most,
      ),
      inodes: Math.min(
        most(({ workInodes }) => workInodes),
        SANDBOX_LIMITS.inodes.most,
      ),
      cpus: most(({ cpus }) => cpus),
      storage: "memory",
    };
    const { memoryBytes } = keeper.capacity;
    if (limits.memoryBytes > memoryBytes)
      return `the sandboxes of this machine have ${memoryBytes} bytes of memory together, and the program needs ${limits.memoryBytes}`;
    const refusal = beyondCapacity({ limits, hasNetwork: true }, keeper.capacity);
    if (refusal) return `this machine cannot have its sandbox (${refusal.message})`;
    const source = withoutByteOrderMark({ name: language.source, data: code }, language, language.source).data;
    const planned = stepsOf(
      {
        kind: "code",
        language: language.name,
        code: source,
        stdin,
        openInput: false,
        cwd: null,
        env: options?.env ?? {},
        limits: {},
        background: false,
        terminal: null,
      },
      { limits, env: {}, hasNetwork: true },
      language,
      EXECUTION,
    );
    if (!planned.prepare) throw new Error("code has no step that writes it");
    const steps: ExecutionSteps = {
      ...planned,
      prepare: {
        ...planned.prepare,
        command: [...planned.prepare.command, ...(options?.compilerOptions ?? [])],
        limits: inSandbox(prepare),
      },
      execute: {
        ...planned.execute,
        command: [...planned.execute.command, ...(options?.args ?? [])],
        limits: inSandbox(execute),
        live: false, // no client gives it more input
      },
    };
    return { limits, steps };
  }

  /** The part of a policy that is within the present bound of the account; the policy itself if all of it is. */
  async #narrowed({ submission }: NetworkClaim, policy: NetworkPolicy): Promise<NetworkPolicy> {
    const bound = await this.#options.store.egress.bound(submission.accountId, submission.projectId);
    return whyNotNarrower(bound.policy, policy) === null ? policy : narrow(bound.policy, policy);
  }

  /** Narrows the policy of a run when an operator narrows the bound. */
  #narrowWhile(claim: NetworkClaim, network: SandboxNetwork): NodeJS.Timeout {
    const { leaseMs, log } = this.#options;
    const narrowOnce = async () => {
      const { version, network: policy } = network.policy;
      const now = await this.#narrowed(claim, policy);
      if (now !== policy && network.policy.version === version)
        await network.replacePolicy({ version: version + 1, network: now });
    };
    return setInterval(() => {
      narrowOnce().catch((error: unknown) =>
        log.warn({ err: error, submission: claim.submission.id }, "the bound of a network could not be read"),
      );
    }, leaseMs / LOOKS_PER_LEASE);
  }

  /** Stores what was reached. While the database is unavailable, this is tried again for the duration of a lease. It never rejects. */
  async #storeEgress(id: string, record: EgressRecord): Promise<void> {
    const { store, leaseMs, log } = this.#options;
    const untilMs = performance.now() + leaseMs;
    for (;;)
      try {
        return await store.submissions.storeEgress(id, record);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || performance.now() > untilMs) {
          log.error({ err: error, submission: id }, "what a submission reached could not be stored");
          return;
        }
        await sleep(STORE_RETRY_MS);
      }
  }
}

/** The limits of a step in a sandbox, whose file systems are those of the sandbox. */
function inSandbox(limits: Limits): Limits {
  return { ...limits, workBytes: 4096, workInodes: 2, tmpBytes: 4096 };
}

/** Runs the steps. @returns `isGone`: whether no process of the program is left. @throws if a step has no report. */
async function execute(
  { limits, steps }: Planned,
  {
    box,
    attached,
    signal,
    onOutput,
  }: {
    readonly box: HeldBox;
    readonly attached: AttachedBox;
    readonly signal: AbortSignal;
    readonly onOutput: OnOutput;
  },
): Promise<{ readonly outcome: Outcome; readonly isGone: boolean }> {
  let memoryKills = 0;
  box.onMemory(() => memoryKills++);
  const kill = () => attached.kill();
  signal.addEventListener("abort", kill);
  try {
    const run = (step: BoxStep, output: OnOutput) => {
      signal.throwIfAborted();
      return attached.run(step, output);
    };
    const reports: { prepare?: BoxReport; execute?: BoxReport } = {};
    if (steps.prepare) reports.prepare = await run(steps.prepare, () => {});
    const isPrepared = !reports.prepare || (reports.prepare.exitCode === 0 && !reports.prepare.failure);
    if (isPrepared) reports.execute = await run(steps.execute, onOutput);
    const last = reports.execute ?? reports.prepare;
    // The answer to a measurement comes after all kills that the launcher has reported.
    if (last && last.oomKills > 0) await box.measure();
    const outcome = executionOutcome(reports, {
      killedFor: null,
      isSandboxOutOfMemory: memoryKills > 0,
      sandboxLimits: limits,
      compiles: steps.compiles,
    });
    return { outcome, isGone: last?.processesLeft === 0 };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

/** The outcome with what proves that the sandbox was built and removed as it should be. Without that, it is an error of the platform. */
function proven(outcome: Outcome, box: HeldBox | null, teardown: TeardownReport | null): Outcome {
  if (!box || !teardown) return internalError("the sandbox was lost before its removal was proven", outcome.evidence);
  const { evidence } = outcome;
  return evidence ? { ...outcome, evidence: withSandbox(evidence, { controls: box.controls, teardown }) } : outcome;
}
