import { setTimeout as sleep } from "node:timers/promises";
import type { EgressRecord } from "../../domain/egress/egress-record.ts";
import { internalError } from "../../domain/outcome.ts";
import {
  EXECUTION_BOUNDS,
  EXECUTION_SIGNALS,
  type Execution,
  outlivesRestart,
  restartedMessage,
  type SignalName,
} from "../../domain/sandboxes/execution.ts";
import type { ExecutionEvent, RunningExecution } from "../../domain/sandboxes/host.ts";
import { type SandboxLimits, SandboxRefused } from "../../domain/sandboxes/sandbox.ts";
import type { Taken } from "./attachments.ts";
import type { BoxReport, BoxStep } from "./engine.ts";
import { ExecutionLog } from "./execution-log.ts";
import { executionOutcome, isFrozen, type Killed, killedOutcome } from "./outcome.ts";
import { Pace } from "./pace.ts";
import type { ExecutionSteps } from "./steps.ts";

/** Bytes of output a second of one terminal, and at once after a pause. Its output has no limit, and each byte is work for this process. */
const TERMINAL = [4 * 1_048_576, 1_048_576] as const;
/** How often a step is tried again because the sandbox was paused when it began. */
const MAX_FROZEN = 100;

export interface RunOptions {
  readonly execution: Execution;
  /** Resolves when the execution is stored; with false, it does not begin. It never rejects. */
  readonly isStored: Promise<boolean>;
  /** Resolves when it is durable that the execution exists, and that no client waits for it any more. */
  readonly confirm: () => Promise<void>;
  readonly steps: ExecutionSteps;
  readonly taken: Taken;
  readonly sandboxLimits: SandboxLimits;
  /** The output of all terminals of the account. */
  readonly accountTerminals: Pace;
  /** Whether the sandbox is paused now. It rejects nothing, and first waits for the end of a snapshot. */
  readonly isPaused: () => Promise<boolean>;
  /** Resolves when the sandbox is not paused, or ends. */
  readonly resumed: () => Promise<void>;
  /** How often the kernel has killed a process because the sandbox had no memory left. `read` waits until all kills so far are known. */
  readonly oomKills: { known(): number; read(): Promise<number> };
  /** Called with what the platform could not do. */
  readonly onFailure: (error: unknown) => void;
  /**
   * What the execution has reached over the network, to its end; null without a network. It never rejects.
   * @param isGone whether no process of it is left.
   */
  readonly egress: (isGone: boolean) => Promise<EgressRecord | null>;
  /** Stores the end, which is then durable. It never rejects. @param bytes of the output that is stored. */
  readonly store: (ended: Execution, bytes: number) => Promise<void>;
}

/** One execution that runs. */
export class Run implements RunningExecution {
  readonly number: number;
  readonly ended: Promise<Execution>;
  readonly #options: RunOptions;
  readonly #log: ExecutionLog;
  /** Resolves when the main program has been started, or is not going to be. */
  readonly #started = Promise.withResolvers<void>();
  #execution: Execution;
  #state: "preparing" | "running" | "ended" = "preparing";
  #killedFor: Killed | "restart" | null = null;
  /** Input that waits: bytes, and the end of the last call. */
  #waitingBytes = 0;
  #inputs: Promise<unknown> = Promise.resolve();
  #isInputOver = false;
  #isStepRunning = false;
  readonly #killed = Promise.withResolvers<void>();
  readonly #terminal = new Pace(...TERMINAL);

  constructor(options: RunOptions) {
    this.#options = options;
    this.#execution = options.execution;
    this.number = options.execution.number;
    const { limits, terminal } = options.steps.execute;
    const { stdoutBytes, stderrBytes } = limits;
    this.#log = new ExecutionLog({ stdoutBytes, stderrBytes, keeps: terminal ? "last" : "first" });
    this.ended = this.#run();
  }

  get execution(): Execution {
    return this.#execution;
  }

  follow(from: { readonly stdout: number; readonly stderr: number }, over: AbortSignal): AsyncIterable<ExecutionEvent> {
    return this.#log.follow(from, over);
  }

  /** Resolves when it has ended and nobody reads its output any more. */
  get unread(): Promise<void> {
    return this.#log.unread;
  }

  async input(bytes: Buffer): Promise<void> {
    await this.#give(bytes);
  }

  async endInput(): Promise<void> {
    if (this.#isInputOver) return;
    const given = this.#give(Buffer.alloc(0));
    this.#isInputOver = true;
    await given;
  }

  async signal(name: SignalName): Promise<void> {
    this.#mustRun();
    if (await this.#options.isPaused()) throw new SandboxRefused("sandboxPaused");
    await this.#started.promise;
    this.#mustRun();
    await this.#options.taken.box.signal(EXECUTION_SIGNALS[name]);
  }

  async resize(rows: number, cols: number): Promise<void> {
    if (!this.#options.steps.execute.terminal) throw new SandboxRefused("noTerminal");
    this.#mustRun();
    await this.#started.promise;
    this.#mustRun();
    await this.#options.taken.box.resize(rows, cols);
  }

  async kill(): Promise<void> {
    this.#mustRun();
    this.killFor("request");
    await this.ended;
  }

  async confirm(): Promise<void> {
    await this.#options.confirm();
  }

  /** Kills it, and says why in its record. */
  killFor(reason: Killed): void {
    if (this.#state === "ended") return;
    this.#killedFor ??= reason;
    this.#killed.resolve();
    if (this.#isStepRunning) this.#options.taken.box.kill();
  }

  /** The process stops, and leaves the sandbox to the next one. The programs of some executions go on when their connection closes; others are killed. */
  leave(): void {
    if (this.#state === "ended") return;
    this.#killedFor ??= "restart";
    this.#killed.resolve();
    const goesOn = this.#state === "running" && outlivesRestart(this.#execution);
    if (this.#isStepRunning && !goesOn) this.#options.taken.box.kill();
  }

  #mustRun(): void {
    if (this.#state === "ended") throw new SandboxRefused("executionEnded");
  }

  /** Passes input on, in order. What waits is bounded, because the program decides when it reads. */
  async #give(bytes: Buffer): Promise<void> {
    this.#mustRun();
    if (!this.#options.steps.takesInput || this.#isInputOver) throw new SandboxRefused("takesNoInput");
    const most = EXECUTION_BOUNDS.waitingInputBytes;
    if (this.#waitingBytes + bytes.length > most) throw new SandboxRefused("inputFull", { bytes: most });
    this.#waitingBytes += bytes.length;
    const given = this.#inputs.then(async () => {
      await this.#started.promise;
      if (this.#state === "ended") return;
      this.#log.hurry();
      await this.#options.taken.box.input(bytes);
    });
    this.#inputs = given.catch(() => {});
    try {
      await given;
    } catch (error) {
      this.#mustRun(); // a program that has ended takes no input
      throw error;
    } finally {
      this.#waitingBytes -= bytes.length;
    }
  }

  async #run(): Promise<Execution> {
    const { steps, taken, oomKills, sandboxLimits, onFailure, egress, store, isStored } = this.#options;
    const reports: { prepare?: BoxReport; execute?: BoxReport } = {};
    const before = oomKills.known();
    let isClean = false;
    let hasBegun = false;
    try {
      hasBegun = (await isStored) && !this.#killedFor;
      if (!hasBegun) throw new Error("the execution was ended before it began");
      if (steps.prepare) reports.prepare = await this.#step(steps.prepare);
      if (!reports.prepare || isSuccess(reports.prepare)) {
        if (this.#killedFor) throw new Error("the execution was ended before its program began");
        reports.execute = await this.#step(steps.execute);
      } else if (reports.prepare && steps.compiles) {
        // Readers get what the compiler wrote, as in the record.
        for (const bytes of [reports.prepare.stdout, reports.prepare.stderr]) this.#log.write("stderr", bytes);
      }
      isClean = true;
    } catch (error) {
      if (hasBegun && !this.#isKilled()) onFailure(error);
    }
    const last = reports.execute ?? reports.prepare;
    const after = last && last.oomKills > 0 ? await oomKills.read() : before;
    const outcome =
      this.#killedFor === "restart"
        ? internalError(restartedMessage(this.#execution))
        : isClean
          ? executionOutcome(reports, {
              killedFor: reasonOf(this.#killedFor),
              isSandboxOutOfMemory: after > before,
              sandboxLimits,
              compiles: steps.compiles,
            })
          : this.#isKilled()
            ? killedOutcome(reasonOf(this.#killedFor), this.#log.kept())
            : internalError("the sandbox was lost before the execution ended");
    const completedAtMs = Date.now();
    const processesLeft = reports.execute?.processesLeft ?? null;
    this.#state = "ended";
    this.#started.resolve();
    taken.give(isClean || !hasBegun);
    const ended: Execution = {
      ...this.#execution,
      status: outcome.status,
      completedAtMs,
      outcome,
      processesLeft,
      egress: await egress(processesLeft === 0),
    };
    const { stdout, stderr } = outcome.output ?? {};
    await store(ended, (stdout?.length ?? 0) + (stderr?.length ?? 0));
    this.#execution = ended;
    this.#log.end(ended);
    return ended;
  }

  /**
   * Whether a client or the end of the sandbox has killed it. Then the connection can end before there is a report: a kill that cannot be
   * sent, because too much was sent before it, closes the connection.
   */
  #isKilled(): boolean {
    return this.#killedFor !== null && this.#killedFor !== "worker_lost";
  }

  /** Runs a step. If the sandbox is paused when it begins, it begins when the sandbox is resumed. */
  async #step(step: BoxStep): Promise<BoxReport> {
    for (let tries = 1; ; tries++) {
      const report = await this.#tryStep(step);
      if (!isFrozen(report) || this.#killedFor || tries === MAX_FROZEN) return report;
      await Promise.race([this.#options.resumed(), this.#killed.promise]);
      if (this.#killedFor) throw new Error("the execution was ended while the sandbox was paused");
    }
  }

  async #tryStep(step: BoxStep): Promise<BoxReport> {
    const { steps, taken, accountTerminals } = this.#options;
    const isProgram = step === steps.execute;
    this.#isStepRunning = true;
    const running = taken.box.run(step, (stream, bytes) => {
      if (isProgram || !steps.compiles) this.#log.write(stream, bytes);
      if (!step.terminal) return;
      const waitMs = Math.max(this.#terminal.take(bytes.length), accountTerminals.take(bytes.length));
      if (waitMs > 0) return sleep(waitMs, undefined, { ref: false });
    });
    if (isProgram) {
      this.#state = "running";
      if (!steps.takesInput) void taken.box.input(Buffer.alloc(0));
      this.#started.resolve();
    }
    const report = await running.finally(() => {
      this.#isStepRunning = false;
    });
    if (!isProgram || !step.paced) return report;
    const kept = this.#log.kept();
    return {
      ...report,
      stdout: kept.stdout.bytes,
      stderr: kept.stderr.bytes,
      stdoutKept: kept.stdout.bytes.length,
      stderrKept: kept.stderr.bytes.length,
      stdoutSeen: kept.stdout.seen,
      stderrSeen: kept.stderr.seen,
    };
  }
}

function reasonOf(killedFor: Killed | "restart" | null): Killed | null {
  return killedFor === "restart" ? null : killedFor;
}

function isSuccess({ exitCode, failure }: BoxReport): boolean {
  return exitCode === 0 && !failure;
}
