import { randomUUID } from "node:crypto";
import type { SandboxMeasurement } from "../../../src/domain/sandboxes/host.ts";
import type { SandboxLimits } from "../../../src/domain/sandboxes/sandbox.ts";
import type {
  AttachedBox,
  BoxReport,
  BoxStep,
  HeldBox,
  OnBegun,
  OnOutput,
  SandboxEngine,
} from "../../../src/worker/sandboxes/engine.ts";
import { report, signalled, teardown } from "../verdict/reports.ts";

const SIGKILL = 9;

/** What a program of the engine in memory can do. */
export interface Io {
  readonly step: BoxStep;
  /** Says in which cgroup it runs. */
  begun(cgroupId: bigint): void;
  write(text: string, stream?: "stdout" | "stderr"): void | Promise<void>;
  /** The next input; null: it is over. */
  read(): Promise<Buffer | null>;
  /** Resolves with the number of the next signal. */
  signalled(): Promise<number>;
  /** Aborted when the program is killed. */
  readonly killed: AbortSignal;
}

/** Runs in place of a program. @returns what its report has besides its output. */
export type Program = (io: Io) => Promise<Partial<BoxReport>>;

/** An engine without a launcher: the tests of the worker give it programs. */
export class MemoryEngine implements SandboxEngine {
  readonly boxes: MemoryBox[] = [];
  /** The most boxes at the same time. */
  most = Number.POSITIVE_INFINITY;
  /** Whether the machine can have no sandboxes. */
  isImpossible = false;
  /** Controls that the next boxes lack. */
  missing: readonly string[] = [];
  readonly #program: Program;
  /** The name of the launcher: a test changes it as a restart of the launcher does. */
  name = "launcher";

  constructor(program: Program) {
    this.#program = program;
  }

  async launcher(): Promise<string> {
    return this.name;
  }

  async rejoin(token: string, _limits?: SandboxLimits, network: string | null = null): Promise<MemoryBox> {
    const box = this.boxes.find((one) => one.token === token && !one.isEnded);
    if (!box?.isKept) throw new Error("there is no box with this token");
    if (box.network !== network) throw new Error("the box has another network");
    box.cutOff();
    return box;
  }

  async hold(limits: SandboxLimits, _accountId = "", network: string | null = null): Promise<MemoryBox> {
    await Promise.resolve();
    if (this.isImpossible) throw Object.assign(new Error("no sandboxes"), { name: "SandboxesImpossibleError" });
    if (this.boxes.filter((box) => !box.isEnded).length >= this.most) {
      throw Object.assign(new Error("no free sandbox"), { name: "SandboxesFullError" });
    }
    const box = new MemoryBox(limits, this.#program, this.missing, this.name, network);
    this.boxes.push(box);
    return box;
  }
}

export class MemoryBox implements HeldBox {
  readonly controls = ["seccomp_filter"];
  readonly controlsMissing: readonly string[];
  readonly limits: SandboxLimits;
  readonly attached = new Set<MemoryAttached>();
  readonly launcher: string;
  readonly token = randomUUID();
  /** The token of its network; null: it has none. */
  readonly network: string | null;
  isKept = false;
  isLeft = false;
  isEnded = false;
  isPaused = false;
  isFrozen = false;
  /** Whether the kernel does not freeze it. */
  resistsPause = false;
  measured: SandboxMeasurement = {
    memoryBytes: 1_000_000,
    memoryPeakBytes: 1_000_000,
    cpuUsec: 0,
    processes: 0,
    oomKills: 0,
    diskBytes: 0,
    inodes: 1,
  };
  readonly #program: Program;
  #onLost: (error: Error) => void = () => {};
  #onMemory: () => void = () => {};

  constructor(
    limits: SandboxLimits,
    program: Program,
    missing: readonly string[],
    launcher: string,
    network: string | null,
  ) {
    this.network = network;
    this.launcher = launcher;
    this.limits = limits;
    this.#program = program;
    this.controlsMissing = missing;
  }

  keep(): void {
    this.isKept = true;
  }

  leave(): void {
    this.isLeft = true;
    this.isPaused = true;
    for (const one of this.attached) one.lose();
  }

  /** Another process takes it over. */
  cutOff(): void {
    for (const one of this.attached) one.lose();
    if (!this.isLeft) this.#onLost(new Error("another process has taken the box over"));
    this.isPaused = true;
    this.isLeft = false;
  }

  async attach(): Promise<MemoryAttached> {
    await Promise.resolve();
    if (this.isEnded) throw new Error("the box was removed");
    const attached = new MemoryAttached(this.#program, () => this.attached.delete(attached));
    this.attached.add(attached);
    return attached;
  }

  async pause(): Promise<void> {
    if (this.resistsPause) throw new Error("not frozen");
    this.isPaused = true;
  }

  async resume(): Promise<void> {
    this.isPaused = false;
  }

  async freeze(): Promise<void> {
    if (this.resistsPause) throw new Error("not frozen");
    this.isFrozen = true;
  }

  async thaw(): Promise<void> {
    this.isFrozen = false;
  }

  async measure(): Promise<SandboxMeasurement> {
    return this.measured;
  }

  async end() {
    this.isEnded = true;
    for (const one of this.attached) one.lose();
    return teardown();
  }

  onLost(listener: (error: Error) => void): void {
    this.#onLost = listener;
  }

  onMemory(listener: () => void): void {
    this.#onMemory = listener;
  }

  /** The kernel kills a process because the box has no memory left. */
  killForMemory(): void {
    this.#onMemory();
  }

  /** The launcher loses the box. */
  lose(): void {
    this.isEnded = true;
    for (const one of this.attached) one.lose();
    this.#onLost(new Error("the holder is gone"));
  }
}

class MemoryAttached implements AttachedBox {
  alive = true;
  readonly #program: Program;
  readonly #onClose: () => void;
  #run: Running | null = null;

  constructor(program: Program, onClose: () => void) {
    this.#program = program;
    this.#onClose = onClose;
  }

  async run(step: BoxStep, onOutput: OnOutput, onBegun: OnBegun = () => {}): Promise<BoxReport> {
    if (!this.alive || this.#run) throw new Error("the connection is busy or closed");
    const run = new Running(step, onOutput, onBegun);
    this.#run = run;
    try {
      return await run.report(this.#program);
    } finally {
      this.#run = null;
    }
  }

  async input(bytes: Buffer): Promise<void> {
    this.#run?.give(bytes.length === 0 ? null : bytes);
  }

  async signal(number: number): Promise<void> {
    this.#run?.signal(number);
  }

  async resize(): Promise<void> {}

  kill(): void {
    this.#run?.kill();
  }

  close(): void {
    this.alive = false;
    this.#onClose();
  }

  lose(): void {
    this.alive = false;
    this.#run?.lose();
  }
}

class Running {
  readonly #step: BoxStep;
  readonly #onOutput: OnOutput;
  readonly #onBegun: OnBegun;
  readonly #killed = new AbortController();
  readonly #lost = Promise.withResolvers<never>();
  readonly #written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  readonly #inputs: (Buffer | null)[] = [];
  #woken = Promise.withResolvers<void>();
  #signal = Promise.withResolvers<number>();

  constructor(step: BoxStep, onOutput: OnOutput, onBegun: OnBegun) {
    this.#step = step;
    this.#onOutput = onOutput;
    this.#onBegun = onBegun;
    this.#lost.promise.catch(() => {});
    if (step.stdin.length > 0) this.#inputs.push(step.stdin);
    if (!step.live) this.#inputs.push(null);
  }

  async report(program: Program): Promise<BoxReport> {
    const killed = new Promise<Partial<BoxReport>>((resolve) => {
      this.#killed.signal.addEventListener("abort", () =>
        resolve({ ...signalled(SIGKILL), killReason: "client", ...this.#output() }),
      );
    });
    const io: Io = {
      step: this.#step,
      begun: (cgroupId) => this.#onBegun(cgroupId),
      write: (text, stream = "stdout") => {
        const bytes = Buffer.from(text);
        this.#written[stream].push(bytes);
        return this.#onOutput(stream, bytes);
      },
      read: () => this.#read(),
      signalled: () => this.#signal.promise,
      killed: this.#killed.signal,
    };
    const changes = await Promise.race([program(io), killed, this.#lost.promise]);
    return { ...report({ ...this.#output(), ...changes }), processesLeft: changes.processesLeft ?? 0 };
  }

  #output() {
    const { stdoutBytes, stderrBytes } = this.#step.limits;
    const of = (stream: "stdout" | "stderr", most: number) => {
      const all = Buffer.concat(this.#written[stream]);
      return { all, kept: all.subarray(0, most) };
    };
    const [out, err] = [of("stdout", stdoutBytes), of("stderr", stderrBytes)];
    return {
      stdout: out.kept,
      stderr: err.kept,
      stdoutKept: out.kept.length,
      stderrKept: err.kept.length,
      stdoutSeen: out.all.length,
      stderrSeen: err.all.length,
    };
  }

  give(input: Buffer | null): void {
    this.#inputs.push(input);
    this.#woken.resolve();
  }

  signal(number: number): void {
    this.#signal.resolve(number);
    this.#signal = Promise.withResolvers();
  }

  kill(): void {
    this.#killed.abort();
  }

  lose(): void {
    this.#lost.reject(new Error("the connection to the launcher is lost"));
  }

  async #read(): Promise<Buffer | null> {
    while (this.#inputs.length === 0) {
      this.#woken = Promise.withResolvers();
      await this.#woken.promise;
    }
    return this.#inputs.shift() ?? null;
  }
}
