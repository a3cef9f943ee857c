import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { egressBytes, type SandboxEgressRecord } from "../../domain/egress/egress-record.ts";
import { hasNetwork, type NetworkPolicy, type VersionedPolicy } from "../../domain/egress/policy.ts";
import type { Language } from "../../domain/language.ts";
import { type Meter, secondsSince } from "../../domain/meter.ts";
import type { TeardownReport } from "../../domain/report.ts";
import {
  EXECUTION_BOUNDS,
  type Execution,
  type ExecutionRequest,
  newExecution,
  outlivesRestart,
} from "../../domain/sandboxes/execution.ts";
import type { SandboxFiles } from "../../domain/sandboxes/files.ts";
import type {
  ExecuteOptions,
  RunningExecution,
  SandboxChange,
  SandboxHandle,
  SandboxMeasurement,
} from "../../domain/sandboxes/host.ts";
import {
  expiresAtMs,
  type Sandbox,
  type SandboxEndReason,
  type SandboxEvidence,
  SandboxRefused,
} from "../../domain/sandboxes/sandbox.ts";
import type { Snapshot } from "../../domain/sandboxes/snapshot.ts";
import { UsageHistory, type UsageSample } from "../../domain/sandboxes/usage.ts";
import type { SandboxNetwork } from "../../egress/egress-thread.ts";
import type { Budget, Release } from "../../fairness/budget.ts";
import type { Languages } from "../../languages/load.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import type { SandboxEnd, TakenOver } from "../../store/sandboxes/types.ts";
import type { Store } from "../../store/store.ts";
import { type AccountUse, Attachments, type Taken } from "./attachments.ts";
import { type HeldBox, isFull } from "./engine.ts";
import { filesOf, type SandboxFileClient, saveFiles } from "./files.ts";
import { IdleClock } from "./idle-clock.ts";
import { Run } from "./run.ts";
import type { Snapshots } from "./snapshots.ts";
import { cleaningStep, limitsOf, PREPARE_OUTPUT_BYTES, stepsOf } from "./steps.ts";

/** How long a stop of the service waits for a sandbox that is ending. */
const ENDED_MS = 20_000;
/** How long the end of a sandbox waits for the reports of its executions, which it has killed. */
const REPORTS_MS = 3_000;
/**
 * The most bytes that are stored of the executions of one sandbox while it lives, and after its end. Those that ended first are deleted, and
 * the last one is always kept. An account can have many sandboxes one after the other, so what remains of each of them is less.
 */
const STORED_BYTES = { living: 16 * 1_048_576, ended: 4 * 1_048_576 } as const;
/** What the database has of an execution besides its output and its request: its result, metrics and evidence. */
const ROW_BYTES = 8_192;
/** Pause before the end of an execution that could not be stored is stored again. */
const STORE_RETRY_MS = 200;
/** How long the end of a sandbox waits for a change of its state that is under way. */
const CHANGE_MS = 3_000;
/** How long a measurement is the answer to everyone who asks. Each one is work for the launcher, which nobody pays for. */
const MEASURED_MS = 200;
/** The output of an execution is in memory twice at its end: for readers, and in its record. */
const COPIES = 2;
/** What an execution can make the log of its connections and names take. */
const EGRESS_LOG_BYTES = 2 * 1_048_576;
/** The most input that waits for one program. */
const INPUT_BYTES = EXECUTION_BOUNDS.waitingInputBytes;
/** A sandbox in which only processes run that an execution has left is measured so many times less often for its history of usage. */
const QUIET = 12;
/** How long the last measurement of a sandbox, before its end, may take. */
const LAST_MEASURED_MS = 1_000;
/** Of its memory, how much the files of a sandbox may take before it ends, when the kernel has killed a process for its limit. */
const FILES_SHARE = 0.9;
/**
 * In how many measurements, one after the other, files must fill the memory before that ends the sandbox. A program that the kernel has killed gives back what only
 * it had, such as a file without a name that a request was writing, when it has exited, which takes a moment.
 */
const FULL_MEASUREMENTS = 10;

export interface LivingSandboxOptions {
  readonly sandbox: Sandbox;
  /** The stored executions of a sandbox that was taken over, oldest end first. */
  readonly earlier?: TakenOver["executions"];
  readonly env: Readonly<Record<string, string>>;
  readonly box: HeldBox;
  /** Its network, which is closed with it; null: it has none. */
  readonly network: SandboxNetwork | null;
  readonly store: Pick<Store, "sandboxes">;
  readonly languages: Pick<Languages, "resolve">;
  readonly account: AccountUse;
  /** Connections to boxes, of all sandboxes of the process. */
  readonly connections: Budget;
  readonly snapshots: Snapshots;
  /** Memory of this process for output and input of executions. */
  readonly buffers: Budget;
  readonly log: Logger;
  readonly meter: Meter;
  /** Closes connections of other sandboxes that wait, because this one needs one. */
  readonly onFull: () => void;
  /** Called when the sandbox has ended. @param unstored its end, if that could not be stored; otherwise it is durable. */
  readonly onEnded: (unstored: SandboxEnd | null) => void;
}

/** A sandbox whose box is in this machine. */
export class LivingSandbox implements SandboxHandle {
  readonly files: SandboxFiles;
  readonly #options: LivingSandboxOptions;
  readonly #attachments: Attachments;
  readonly #fileClient: SandboxFileClient;
  readonly #runs = new Map<number, Run>();
  /** The executions whose end is stored, oldest first, with the bytes of their output. */
  readonly #stored: { readonly number: number; readonly bytes: number }[];
  #storedBytes = 0;
  readonly #idle: IdleClock;
  readonly #usage = new UsageHistory();
  /** Whether an execution has run since the last measurement. */
  #hasRun = true;
  #sandbox: Sandbox;
  #number = 0;
  /** The highest number that is stored. It stays known, so that no later process gives it to another execution. */
  #highest = 0;
  #memoryKills = 0;
  #measured: { readonly atMs: number; readonly result: Promise<SandboxMeasurement> } | null = null;
  /** Whether memory is being looked at, and whether that must be done again. */
  #isLooking = false;
  #mustLook = false;
  /** Set from the beginning of a pause on: an execution that began then would find the sandbox frozen. */
  #isPausing = false;
  /** Resolves when no snapshot is being taken: requests that need programs wait for that. */
  #still: Promise<void> = Promise.resolve();
  /** Resolves when the sandbox is not paused any more, or ends. */
  #running = Promise.withResolvers<void>();
  /** Replacements of the network policy, one after the other. They do not wait for changes of the state, such as a snapshot. */
  #policies: Promise<void> = Promise.resolve();
  /** Changes of the state, one after the other. */
  #changes: Promise<unknown> = Promise.resolve();
  #ending: { readonly reason: SandboxEndReason; readonly ended: Promise<Sandbox> } | null = null;
  #isLost = false;
  /** Whether the process stops, and leaves the sandbox to the next one. */
  #isLeaving = false;

  constructor(options: LivingSandboxOptions) {
    this.#options = options;
    this.#sandbox = options.sandbox;
    const { earlier = [] } = options;
    this.#stored = earlier.map(({ number, bytes }) => ({ number, bytes: bytes + ROW_BYTES }));
    this.#storedBytes = this.#stored.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#number = Math.max(0, ...earlier.map(({ number }) => number));
    this.#highest = this.#number;
    const { box, network, account, connections: machine } = options;
    const { accountId } = options.sandbox;
    this.#attachments = new Attachments({ box, network, accountId, machine, account, onFull: options.onFull });
    this.#idle = new IdleClock(performance.now());
    if (options.sandbox.state === "paused") this.#idle.stop(performance.now());
    else this.#running.resolve();
    this.#fileClient = filesOf({
      take: () => this.#take(),
      mustRun: async () => {
        await this.#still;
        this.#mustRun();
      },
      limits: options.sandbox.limits,
      use: () => this.use(),
    });
    this.files = this.#fileClient.files;
    account.idle.add(this.#fileClient.endIdle);
    box.onMemory(() => {
      this.#memoryKills++;
      void this.#endIfFull();
    });
    box.onLost((error) => {
      this.#isLost = true;
      options.log.error({ err: error, sandbox: this.#sandbox.id }, "the box of a sandbox was lost");
      void this.endFor("worker_lost");
    });
  }

  get sandbox(): Sandbox {
    return this.#sandbox;
  }

  use(): () => void {
    return this.#idle.use();
  }

  async execute(request: ExecutionRequest, options: ExecuteOptions = {}): Promise<RunningExecution> {
    await this.#still;
    this.#mustRun();
    const { language: name } = request;
    const language = name === undefined ? null : (this.#options.languages.resolve(name) ?? null);
    if (request.kind === "code" && !language) throw new Error(`the language ${name} is not installed`);
    const release = this.#reserve(request);
    this.#hasRun = true;
    const done = this.use();
    try {
      const taken = await this.#take();
      return await this.#begin(request, { language, options, taken, release });
    } catch (error) {
      release();
      throw error;
    } finally {
      done(); // from now on, readers and the CPU time of its programs say whether it is used
    }
  }

  /** @param held what the execution gives back at its end. */
  async #begin(
    request: ExecutionRequest,
    {
      language,
      options: { keyId, isAwaited = false },
      taken,
      release,
    }: {
      readonly language: Language | null;
      readonly options: ExecuteOptions;
      readonly taken: Taken;
      readonly release: Release;
    },
  ): Promise<Run> {
    const { store, log, meter, env, network } = this.#options;
    const { id, limits } = this.#sandbox;
    const number = ++this.#number;
    const steps = stepsOf(request, { limits, env, hasNetwork: network !== null }, language, number);
    const startedAt = performance.now();
    const begun = newExecution(this.#sandbox, number, request, Date.now());
    const execution: Execution = keyId === undefined ? begun : { ...begun, keyId };
    const stored = store.sandboxes.begin(execution, this.#sandbox.worker, { keyId: keyId ?? null, isAwaited });
    const isStored = stored.then(
      (result) => result === "begun",
      () => false, // reported below
    );
    // The connection to the database can have been lost after it was stored.
    const hasEnd = stored.then(
      (result) => result === "begun",
      () => true,
    );
    const run = new Run({
      execution,
      isStored,
      confirm: () => (isAwaited ? store.sandboxes.confirm(execution) : Promise.resolve()),
      steps,
      taken,
      sandboxLimits: limits,
      accountTerminals: this.#options.account.terminals,
      isPaused: async () => {
        await this.#still;
        return this.#isPausing || this.#sandbox.state === "paused";
      },
      resumed: () => this.#still.then(() => this.#running.promise),
      oomKills: { known: () => this.#memoryKills, read: () => this.#readMemoryKills() },
      onFailure: (error) => log.error({ err: error, sandbox: id, execution: number }, "an execution was lost"),
      egress: async (isGone) => (network ? await network.take(number, isGone) : null),
      store: async (ended, bytes) => {
        if (await hasEnd) await this.#storeEnd(ended, bytes);
        meter.time("executionRan", {}, secondsSince(startedAt));
        meter.count("executionsEnded", { verdict: ended.outcome?.result.verdict ?? "IE" });
        this.#runs.delete(number);
        void run.unread.then(release); // slow readers keep the output in memory
        if (steps.codeDirectory !== null && !request.background) void this.#clean(steps.codeDirectory);
      },
    });
    this.#runs.set(number, run);
    const result = await stored;
    if (result === "begun") {
      this.#highest = Math.max(this.#highest, number);
      return run;
    }
    if (result === "full")
      throw new SandboxRefused("sandboxQuota", { what: "executions", most: this.#options.account.most });
    if (result === "revoked") throw new SandboxRefused("keyRevoked");
    if (result === "suspended") throw new SandboxRefused("accountSuspended");
    void this.endFor("worker_lost");
    throw this.#refusal("worker_lost");
  }

  async execution(number: number): Promise<RunningExecution | null> {
    return this.#runs.get(number) ?? null;
  }

  pause(): Promise<Sandbox> {
    return this.#change(async () => {
      if (this.#sandbox.state === "paused") return this.#sandbox;
      this.#isPausing = true;
      this.#running = Promise.withResolvers();
      try {
        await this.#ofBox(() => this.#options.box.pause());
        this.#idle.stop(performance.now());
        return await this.#update({ state: "paused" }, false);
      } catch (error) {
        this.#running.resolve();
        throw error;
      } finally {
        this.#isPausing = false;
      }
    });
  }

  resume(): Promise<Sandbox> {
    return this.#change(async () => {
      if (this.#sandbox.state !== "paused") return this.#sandbox;
      await this.#ofBox(() => this.#options.box.resume());
      this.#idle.start(performance.now());
      const resumed = await this.#update({ state: "running" }, false);
      this.#running.resolve();
      return resumed;
    });
  }

  snapshot(name: string | null, keyId: string): Promise<Snapshot> {
    return this.#change(() => this.#snapshot(name, keyId));
  }

  /** Takes a snapshot. It must be the only change. @param keyId null: not a key asks for it, but the end of the time of the sandbox. */
  async #snapshot(name: string | null, keyId: string | null): Promise<Snapshot> {
    const { box, snapshots, log, meter } = this.#options;
    const sandbox = this.#sandbox;
    const { limits } = sandbox;
    const done = this.use();
    const still = Promise.withResolvers<void>();
    let place: Release | undefined;
    const startedAt = performance.now();
    try {
      place = await snapshots.place(sandbox.accountId);
      const { diskBytes } = await box.measure();
      this.#still = still.promise;
      return await snapshots.take({
        sandbox,
        name,
        keyId,
        leastBytes: diskBytes,
        save: async (take) => {
          await box.freeze();
          try {
            return await saveFiles(box, limits, take);
          } finally {
            await box.thaw().catch((error: unknown) => {
              // Its programs may stand still for ever, so nobody can use it any more.
              log.error(
                { err: error, sandbox: sandbox.id },
                "the programs of a sandbox did not continue after a snapshot",
              );
              void this.endFor("worker_lost");
            });
            still.resolve();
          }
        },
      });
    } catch (error) {
      if (this.#ending && keyId !== null) throw this.#refusal(this.#ending.reason);
      throw error;
    } finally {
      still.resolve();
      place?.();
      done();
      meter.time("snapshotTaken", {}, secondsSince(startedAt));
    }
  }

  change(change: SandboxChange): Promise<Sandbox> {
    return this.#change(() => this.#update(change));
  }

  async replaceNetwork(policy: NetworkPolicy): Promise<Sandbox> {
    this.#mustLive();
    const { store } = this.#options;
    const { id, worker } = this.#sandbox;
    if (hasNetwork(this.#sandbox.network) && !this.#options.network) throw new SandboxRefused("networkOff");
    const replaced = await store.sandboxes.replaceNetwork(id, worker, policy);
    switch (replaced.kind) {
      case "without":
        throw new SandboxRefused("sandboxWithoutNetwork");
      case "network":
        throw new SandboxRefused("networkForbidden", { reason: replaced.reason });
      case "lost":
        void this.endFor("worker_lost");
        throw this.#refusal("worker_lost");
      case "replaced":
        await this.applyNetwork(replaced.sandbox.network);
        return this.#sandbox;
    }
  }

  /** Applies the stored policy of its network, if that is later than the one that holds. */
  applyNetwork(policy: VersionedPolicy): Promise<void> {
    const applied = this.#policies.then(async () => {
      if (policy.version > this.#sandbox.network.version) this.#sandbox = { ...this.#sandbox, network: policy };
      const { network } = this.#options;
      if (network && policy.version > network.policy.version) await network.replacePolicy(policy);
    });
    this.#policies = applied.catch(() => {});
    return applied;
  }

  /** Applies the policy of its network that another process has stored: an operator has narrowed the bound. @param version of the stored one. */
  async renewNetwork(version: number): Promise<void> {
    const { network, store } = this.#options;
    if (!network || version <= network.policy.version) return;
    const { id, accountId } = this.#sandbox;
    const stored = await store.sandboxes.get(id, accountId);
    if (stored) await this.applyNetwork(stored.network);
  }

  async egress(): Promise<SandboxEgressRecord | null> {
    this.#mustLive();
    return (await this.#options.network?.totals()) ?? null;
  }

  end(): Promise<Sandbox> {
    if (this.#isLeaving && !this.#ending) return Promise.reject(new SandboxRefused("sandboxMoving"));
    return this.endFor("client");
  }

  async measure(): Promise<SandboxMeasurement> {
    this.#mustLive();
    const known = this.#measured;
    if (known && performance.now() - known.atMs < MEASURED_MS) return await known.result;
    this.#hasRun = this.#runs.size > 0;
    const measured = { atMs: Number.POSITIVE_INFINITY, result: this.#ofBox(() => this.#options.box.measure()) };
    this.#measured = measured;
    try {
      const result = await measured.result;
      this.#usage.add(result, Date.now());
      return result;
    } finally {
      measured.atMs = performance.now();
    }
  }

  async usage(): Promise<readonly UsageSample[]> {
    return this.#usage.samples();
  }

  /** Ends the sandbox. It resolves when it is removed and that is durable. If it is ending already, the first reason stays. */
  endFor(reason: SandboxEndReason): Promise<Sandbox> {
    // The next process has it: what fails because this one leaves is no reason to end it.
    if (this.#isLeaving && !this.#ending) return Promise.resolve(this.#sandbox);
    this.#ending ??= { reason, ended: this.#end(reason) };
    return this.#ending.ended;
  }

  /**
   * Leaves the sandbox to the next process, which takes it over. What runs ends as lost by the platform, but some programs go on. It resolves when that is durable.
   */
  async leave(): Promise<void> {
    if (this.#ending) {
      await inTime(this.#ending.ended, ENDED_MS);
      return;
    }
    this.#isLeaving = true;
    this.#running.resolve();
    this.#options.account.idle.delete(this.#fileClient.endIdle);
    this.#attachments.close();
    this.#fileClient.close();
    for (const run of this.#runs.values()) run.leave();
    await inTime(this.#changes, CHANGE_MS);
    const killed = [...this.#runs.values()].filter(({ execution }) => !outlivesRestart(execution));
    await inTime(Promise.all(killed.map(({ ended }) => ended)), REPORTS_MS);
    this.#options.box.leave();
    await inTime(Promise.all([...this.#runs.values()].map(({ ended }) => ended)), REPORTS_MS);
    // The next process must find in the database what was used.
    await this.#options.network?.close();
  }

  /**
   * Looks at the clocks of the sandbox, and ends it if one of them says so. It measures for the history of usage, if that is due.
   * @param nowMs since the epoch. @param steadyMs of performance.now(). @param leastStepMs the least time between two such measurements.
   */
  async tick(nowMs: number, steadyMs: number, leastStepMs: number): Promise<void> {
    if (this.#ending || this.#isLeaving) return;
    if (this.#isUsageDue(nowMs, leastStepMs)) await this.measure();
    this.#attachments.closeUnused(steadyMs);
    if (nowMs >= (expiresAtMs(this.#sandbox) ?? nowMs)) {
      await this.#endInTime("lifetime");
      return;
    }
    const measure = async () => (await this.measure()).cpuUsec;
    if (await this.#idle.isOver(this.#sandbox.idleSecs * 1000, steadyMs, measure)) await this.#endInTime("idle");
  }

  /** Ends the sandbox because its time is over, and before that takes a snapshot if it is to. */
  #endInTime(reason: "lifetime" | "idle"): Promise<Sandbox> {
    if (this.#isLeaving && !this.#ending) return Promise.resolve(this.#sandbox);
    const isKept = this.#sandbox.onTimeout === "snapshot";
    this.#ending ??= { reason, ended: isKept ? this.#keepAndEnd(reason) : this.#end(reason) };
    return this.#ending.ended;
  }

  async #keepAndEnd(reason: "lifetime" | "idle"): Promise<Sandbox> {
    const { log } = this.#options;
    // A snapshot that a client has asked for ends first: two at once would end the box. Changes that wait are refused.
    await this.#changes;
    let lastSnapshot: SandboxEnd["lastSnapshot"];
    try {
      lastSnapshot = { id: (await this.#snapshot(null, null)).id };
    } catch (error) {
      log.error({ err: error, sandbox: this.#sandbox.id }, "no snapshot was taken at the end of a sandbox");
      lastSnapshot = { error: whyNoSnapshot(error) };
    }
    return await this.#end(reason, lastSnapshot);
  }

  /** Nothing changes in a sandbox that is paused or has no process, so it costs nothing. */
  #isUsageDue(nowMs: number, leastStepMs: number): boolean {
    if (this.#isPausing || this.#sandbox.state === "paused") return false;
    const sinceMs = nowMs - this.#usage.lastMs;
    const stepMs = Math.max(this.#usage.stepMs, leastStepMs);
    if (this.#runs.size > 0 || this.#hasRun) return sinceMs >= stepMs;
    return this.#usage.processes > 0 && sinceMs >= QUIET * stepMs;
  }

  /** Frees the connections that wait for executions. */
  closeIdle(): void {
    this.#attachments.closeIdle();
  }

  /** Memory for the output and the input of an execution. */
  #reserve({ limits, openInput, terminal, stdin, code }: ExecutionRequest): Release {
    const { stdoutBytes, stderrBytes } = limitsOf(this.#sandbox.limits, limits, false);
    const preparing = code ? 2 * PREPARE_OUTPUT_BYTES : 0;
    const waiting = (openInput || terminal ? INPUT_BYTES : 0) + stdin.length + (code?.length ?? 0);
    const release = this.#options.buffers.take(
      this.#sandbox.accountId,
      COPIES * (stdoutBytes + stderrBytes + preparing) + waiting + (this.#options.network ? EGRESS_LOG_BYTES : 0),
    );
    if (!release) throw new SandboxRefused("executionsFull");
    return release;
  }

  async #take(): Promise<Taken> {
    await this.#still;
    this.#mustRun();
    const taken = await this.#ofBox(() => this.#attachments.take());
    try {
      this.#mustRun(); // it can have been paused or ended meanwhile
    } catch (error) {
      taken.give(true);
      throw error;
    }
    return taken;
  }

  #mustLive(): void {
    if (this.#isLeaving) throw new SandboxRefused("sandboxMoving");
    if (this.#ending) throw this.#refusal(this.#ending.reason);
  }

  #mustRun(): void {
    this.#mustLive();
    if (this.#isPausing || this.#sandbox.state === "paused") throw new SandboxRefused("sandboxPaused");
  }

  /** Asks something of the box. The end of the sandbox, which anyone can bring about, is a reason why it refuses, and no failure. */
  async #ofBox<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      this.#mustLive();
      if (this.#isLost) throw this.#refusal("worker_lost");
      throw isFull(error) ? new SandboxRefused("executionsFull") : error;
    }
  }

  async #measureLast(): Promise<void> {
    const measured = await this.#options.box.measure().catch(() => null); // the box can be lost meanwhile
    if (measured) this.#usage.add(measured, Date.now());
  }

  #refusal(reason: SandboxEndReason): SandboxRefused {
    return new SandboxRefused("sandboxEnded", { reason });
  }

  #change<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(() => {
      this.#mustLive();
      return change();
    });
    this.#changes = done.catch(() => {});
    return done;
  }

  async #update(update: Parameters<Store["sandboxes"]["update"]>[2], isFlushed = true): Promise<Sandbox> {
    const { id, worker } = this.#sandbox;
    const sandbox = await this.#options.store.sandboxes.update(id, worker, update, isFlushed);
    if (!sandbox) {
      void this.endFor("worker_lost");
      throw this.#refusal("worker_lost");
    }
    // A policy that is stored meanwhile stays.
    const { network } = this.#sandbox;
    this.#sandbox = network.version > sandbox.network.version ? { ...sandbox, network } : sandbox;
    return this.#sandbox;
  }

  /** The answer to a measurement comes after all kills that the launcher has reported. */
  async #readMemoryKills(): Promise<number> {
    await this.#options.box.measure().catch(() => {}); // the sandbox has ended meanwhile: what is known stays
    return this.#memoryKills;
  }

  /**
   * Ends a sandbox whose files leave no memory for programs: every program would be killed. Kills that come while it looks are looked at
   * together afterwards: the last look is always later than the last kill.
   */
  async #endIfFull(): Promise<void> {
    if (this.#sandbox.limits.storage === "disk") return; // its files need no memory that the kernel cannot take back
    this.#mustLook = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      while (this.#mustLook && !this.#ending) {
        this.#mustLook = false;
        if (await this.#isFull()) await this.endFor("memory");
        else await sleep(MEASURED_MS, undefined, { ref: false });
      }
    } catch {
      // The sandbox has ended meanwhile.
    } finally {
      this.#isLooking = false;
    }
  }

  /** Whether files fill the memory, and not only for a moment. */
  async #isFull(): Promise<boolean> {
    for (let times = 0; times < FULL_MEASUREMENTS; times++) {
      if (times > 0) await sleep(MEASURED_MS, undefined, { ref: false });
      const { diskBytes } = await this.#options.box.measure();
      if (diskBytes <= FILES_SHARE * this.#sandbox.limits.memoryBytes) return false;
    }
    return true;
  }

  async #storeEnd(ended: Execution, outputBytes: number): Promise<void> {
    const { store, log } = this.#options;
    try {
      const { argv, shell, cwd, egress } = ended;
      const bytes =
        outputBytes + egressBytes(egress) + Buffer.byteLength(JSON.stringify([argv, shell, cwd])) + ROW_BYTES;
      this.#stored.push({ number: ended.number, bytes });
      this.#storedBytes += bytes;
      const end = { execution: ended, drop: this.#drop(STORED_BYTES.living) };
      await this.#untilStored(() => store.sandboxes.endExecution(end));
    } catch (error) {
      // The end of the sandbox, the next process, or the sweep then ends it as lost.
      log.error(
        { err: error, sandbox: ended.sandboxId, execution: ended.number },
        "the end of an execution was not stored",
      );
    }
  }

  /** Stores something. While the database is unavailable, this is tried again, as long as the sandbox lives in this process. */
  async #untilStored(store: () => Promise<void>): Promise<void> {
    for (;;)
      try {
        return await store();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#ending || this.#isLeaving) throw error;
        await sleep(STORE_RETRY_MS, undefined, { ref: false });
      }
  }

  /** @returns the numbers of ended executions that are deleted, so that those that stay are few enough and have at most so many bytes. */
  #drop(most: number): number[] {
    let from = 0;
    for (const { bytes } of this.#stored) {
      const left = this.#stored.length - from;
      if (left <= 1 || (left <= EXECUTION_BOUNDS.stored && this.#storedBytes <= most)) break;
      this.#storedBytes -= bytes;
      from++;
    }
    const dropped = this.#stored.splice(0, from);
    const last = dropped.findIndex(({ number }) => number === this.#highest);
    for (const stays of last === -1 ? [] : dropped.splice(last, 1)) {
      this.#stored.unshift(stays);
      this.#storedBytes += stays.bytes;
    }
    return dropped.map(({ number }) => number);
  }

  /** Removes the directory of code that has run. Its programs can have removed it, or filled the sandbox: then it stays. */
  async #clean(directory: string): Promise<void> {
    try {
      const taken = await this.#take();
      let isClean = false;
      try {
        await taken.box.run(cleaningStep(directory, this.#sandbox.limits), () => {});
        isClean = true;
      } finally {
        taken.give(isClean);
      }
    } catch (error) {
      this.#options.log.debug({ err: error, sandbox: this.#sandbox.id }, "the directory of code was not removed");
    }
  }

  async #end(reason: SandboxEndReason, lastSnapshot?: SandboxEnd["lastSnapshot"]): Promise<Sandbox> {
    const { box, network, store, log, meter, onEnded } = this.#options;
    const { id, worker } = this.#sandbox;
    this.#running.resolve();
    this.#options.account.idle.delete(this.#fileClient.endIdle);
    this.#attachments.close();
    this.#fileClient.close();
    if (this.#hasRun && !this.#isLost) await inTime(this.#measureLast(), LAST_MEASURED_MS);
    for (const run of this.#runs.values()) run.killFor(reason);
    // What a change under way stores must not come after the end. The database refuses it if it does.
    await inTime(this.#changes, CHANGE_MS);
    await inTime(Promise.all([...this.#runs.values()].map(({ ended }) => ended)), REPORTS_MS);
    let teardown: TeardownReport | null = null;
    try {
      if (!this.#isLost) teardown = await box.end();
    } catch (error) {
      log.error({ err: error, sandbox: id }, "the box of a sandbox was not removed cleanly");
    }
    // The box is gone, so what still ran has now ended.
    await inTime(Promise.all([...this.#runs.values()].map(({ ended }) => ended)), REPORTS_MS);
    const egress = (await network?.totals()) ?? null;
    await network?.close();
    const evidence: SandboxEvidence | null = this.#sandbox.evidence && { ...this.#sandbox.evidence, teardown };
    const endedAtMs = Date.now();
    const end: SandboxEnd = {
      reason,
      endedAtMs,
      evidence,
      lastSnapshot,
      drop: this.#drop(STORED_BYTES.ended),
      usage: this.#usage.samples(),
      egress,
    };
    let unstored: SandboxEnd | null = null;
    try {
      const ended = await store.sandboxes.end(id, worker, end);
      if (ended) meter.count("sandboxesEnded", { reason }); // otherwise another process has ended it, and counted it
      this.#sandbox = ended ?? (await store.sandboxes.get(id, this.#sandbox.accountId)) ?? this.#sandbox;
    } catch (error) {
      unstored = end; // the keeper tries again
      log.error({ err: error, sandbox: id }, "the end of a sandbox was not stored");
      this.#sandbox = { ...this.#sandbox, state: "ended", endReason: reason, endedAtMs, evidence };
    }
    onEnded(unstored);
    return this.#sandbox;
  }
}

/** What the record of a sandbox says about a snapshot that was to be taken. */
function whyNoSnapshot(error: unknown): string {
  if (!(error instanceof SandboxRefused)) return "the platform failed";
  if (SandboxRefused.is(error, "snapshotFailed")) return error.details.why.slice(0, MAX_WHY).toWellFormed();
  return SandboxRefused.is(error, "snapshotQuota")
    ? `the account has its most of ${error.details.what}: ${error.details.most}`
    : error.code;
}
const MAX_WHY = 500;

/** Waits for a promise that never rejects, at most so long. */
async function inTime(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
