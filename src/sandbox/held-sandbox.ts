import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Captured } from "../domain/captured.ts";
import type { Limits } from "../domain/limits.ts";
import type { StepReport, TeardownReport } from "../domain/report.ts";
import { type KeyName, UNLIMITED } from "./protocol.ts";
import { greet, refusal, SandboxError, StepSizeError } from "./refusal.ts";
import { decodeReport, decodeTeardown, type Hello } from "./report.ts";
import { encodeSignal, kernelBytes, LIMIT_ENTRIES, walkableBytes } from "./step.ts";
import { Entries, encodeRaw, type Frame, FrameReader, FrameWriter, ProtocolError, rawHeader } from "./wire.ts";

/** The names of the launcher's sockets for sandboxes, beside the one for slots. */
export const SANDBOXES_SOCKET = "sandboxes.sock";
const EXECUTIONS_SOCKET = "executions.sock";

const [OPEN_MS, HOLD_MS, ANSWER_MS, END_MS, FREE_MS] = [30_000, 30_000, 20_000, 60_000, 2000];
/** As for slots of submissions: how long a slot may take longer than the limit of wall time. ENDING frames extend it. */
const SILENCE_MS = 45_000;
/** Input frames that the program has not taken yet. The socket has space for them, so that the end of a connection is never behind them. */
const INPUTS_UNDER_WAY = 2;
/** How many SIGNAL and RESIZE frames may be under way. Beyond that, only the last size and one signal of each number wait. */
const CONTROLS_UNDER_WAY = 8;
const [MAX_INPUT_BYTES, SMALL_INPUT_BYTES] = [64 * 1024, 4 * 1024];
/** Arguments and environment together; the launcher's EXEC_ARGS_BYTES is a little larger. */
const MAX_COMMAND_BYTES = 480 * 1024;
/** RLIMIT_NPROC counts all processes of the user, that is of the whole sandbox. The cgroups must refuse first, because they count refusals. */
const PROCESS_RLIMIT_ABOVE = 64;
const MAX_ENV = 64;
const MAX_ARGS = 128;
/** Of one argument, and of a variable with its name. */
const [MAX_ARG_BYTES, MAX_VARIABLE_BYTES] = [64 * 1024, 16 * 1024];

/** The launcher has as many sandboxes, or connections for executions, as it may have. */
export class SandboxesFullError extends SandboxError {
  override readonly name = "SandboxesFullError";
}

/** The machine can have no sandboxes. The log of the launcher says why. */
export class SandboxesImpossibleError extends SandboxError {
  override readonly name = "SandboxesImpossibleError";
}

/** The limits of a sandbox, for everything in it together. */
export interface HoldLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Bytes of all files that differ from the image. If these are in memory, they count as memory as well. */
  readonly diskBytes: number;
  readonly inodes: number;
  /** Where these files are: in memory, or on the disk of the machine (launcher/disks.h). */
  readonly storage: "memory" | "disk";
  /** The token by which the proxy in the launcher's directory --egress knows the sandbox, 32 hexadecimal digits; null: the sandbox has no network. */
  readonly network?: string | null;
}

/** What a sandbox uses. */
export interface Measurement {
  readonly memoryBytes: number;
  readonly memoryPeakBytes: number;
  readonly cpuUsec: number;
  /** Processes and threads. */
  readonly processes: number;
  /** Processes that the OOM killer has killed since the start. */
  readonly oomKills: number;
  readonly frozen: boolean;
  readonly diskBytes: number;
  readonly inodes: number;
}

/** A program in a sandbox. */
export interface ExecutionStep {
  /** The program and its arguments. A program without a slash is looked for in the directories of PATH. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Limits;
  /** The whole input, or if `live`, the beginning of it. */
  readonly stdin: Buffer;
  readonly live: boolean;
  /** The directory in which the program starts; null: the home directory. */
  readonly cwd: string | null;
  readonly terminal: { readonly rows: number; readonly cols: number } | null;
  /** Whether processes that outlive the program stay. */
  readonly leaveProcesses: boolean;
  /** Whether the program waits until its output is taken. Its standard output then has no limit, and the report does not contain it. */
  readonly paced: boolean;
  /** Whether the program runs between `freeze` and `thaw`, and only then. */
  readonly whileFrozen?: boolean;
  /** The most memory of the kernel, such as for files; by default a part of the memory limit (kernelBytes() in step.ts). */
  readonly kernelBytes?: number;
}

/** The report of an execution. */
export type ExecutionReport = StepReport & {
  /** Processes and threads that the execution left behind, and that run on. */
  readonly processesLeft: number;
};

/**
 * Receives output while a program runs. The bytes stay as they are, and whoever keeps them keeps the chunk of up to 64 KiB that they are a part of. As long
 * as a promise is pending, nothing more of the slot is read.
 */
export type OnExecutionOutput = (stream: "stdout" | "stderr", bytes: Buffer) => void | Promise<void>;

/**
 * Called once for an execution in a sandbox with a network, before its program is started.
 * @param groupId the kernel's number of the control group of the execution, which the relay says of each connection that one of its processes makes
 *   (`StreamHeader.cgroupId` in src/egress/protocol.ts). Until the end of the execution, no other one has this number; a later one can have it.
 */
export type OnExecutionBegun = (groupId: bigint) => void;

/** A connection to the launcher whose first frame was HELLO. */
class Connection {
  readonly hello: Hello;
  readonly #socket: Socket;
  /** Receives each frame. A promise stops reading until it resolves. @throws ends the connection with this error. */
  onFrame: (frame: Frame) => void | Promise<void> = () => {};
  onEnd: (error: Error) => void = () => {};
  #ended: Error | null = null;

  private constructor(socket: Socket, hello: Hello) {
    this.#socket = socket;
    this.hello = hello;
  }

  static open(path: string): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ path });
      const reader = new FrameReader({ inParts: true });
      let connection: Connection | null = null;
      const lose = (error: Error) => {
        clearTimeout(timer);
        socket.destroy();
        connection?.end(error);
        reject(error);
      };
      const timer = setTimeout(() => lose(new SandboxError("the launcher did not respond")), OPEN_MS);
      socket.on("error", (error) => lose(new SandboxError(`the launcher cannot be reached: ${error.message}`)));
      socket.on("close", () => lose(new SandboxError("the launcher closed the connection")));
      socket.on("data", (chunk: Buffer) => {
        const waits: Promise<void>[] = [];
        try {
          for (const frame of reader.push(chunk)) {
            if (connection) {
              const waiting = connection.onFrame(frame);
              if (waiting) waits.push(waiting);
            } else {
              connection = new Connection(socket, greet(full(frame)));
              clearTimeout(timer);
              resolve(connection);
            }
          }
        } catch (error) {
          lose(error as Error);
          return;
        }
        if (waits.length === 0) return;
        socket.pause();
        void Promise.all(waits).then(
          () => socket.resume(),
          (error: Error) => lose(error),
        );
      });
    });
  }

  get alive(): boolean {
    return this.#ended === null;
  }

  get lost(): Error | null {
    return this.#ended;
  }

  /**
   * Resolves when the bytes are in the socket, or when the connection has ended. What is sent at once, such as a step and the end of its
   * input, is one write.
   */
  send(pieces: readonly Buffer[]): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.cork();
      const last = pieces.length - 1;
      for (const [at, piece] of pieces.entries()) this.#socket.write(piece, at === last ? () => resolve() : undefined);
      process.nextTick(() => this.#socket.uncork());
    });
  }

  /** Ends the sending side: the launcher kills what runs, reports it, and closes. */
  finish(): void {
    // What was just sent is still to be written.
    while (this.#socket.writableCorked > 0) this.#socket.uncork();
    if (this.#socket.writableLength > 0) this.#socket.destroy();
    else this.#socket.end();
  }

  /** Resolves when the launcher has closed the connection. */
  get closed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else this.#socket.once("close", () => resolve());
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  end(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    this.#socket.destroy();
    this.onEnd(error);
  }
}

/** @throws SandboxesFullError if the frame says that the launcher is full, and SandboxesImpossibleError if it can have none. */
function full(frame: Frame): Frame {
  if (frame.name !== "FAILED") return frame;
  const entries = new Entries(frame);
  const step = entries.text("STEP_NAME");
  const errno = entries.int("STEP_ERRNO");
  if (step === "sandboxes" && errno === IMPOSSIBLE)
    throw new SandboxesImpossibleError("this machine can have no sandboxes");
  const isExhausted = step !== "sandbox" && EXHAUSTED.includes(errno); // a failure of the sandbox itself is none of the machine
  if (FULL[step] !== errno && !isExhausted) return frame;
  const what = `${step} ${entries.text("STEP_OBJECT")} (errno ${errno})`;
  throw new SandboxesFullError(`no free place: ${what}`);
}
/** The error number with which the launcher refuses sandboxes where the machine can have none: ENOTSUP. */
const IMPOSSIBLE = 95;
/** The error number with which each step says that there is no room: EAGAIN, and for disks ENOSPC. */
const FULL: Readonly<Record<string, number>> = { sandboxes: 11, executions: 11, disk: 28 };
/** The error numbers with which the kernel says that it has no more of something: EAGAIN, ENOMEM, ENFILE, EMFILE, ENOSPC and ENOBUFS. */
const EXHAUSTED: readonly number[] = [11, 12, 23, 24, 28, 105];

interface Waiting {
  readonly answer: Frame["name"];
  readonly resolve: (entries: Entries) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * A sandbox that the launcher holds for this connection: a box that lives until `end`, or until the connection ends. After `keep`, it lives on without a
 * connection for a time, with all of its programs stopped, and another process can take it over. Programs run in it through attached slots.
 */
export class HeldSandbox {
  readonly controls: readonly string[];
  readonly controlsMissing: readonly string[];
  readonly limits: HoldLimits;
  readonly #connection: Connection;
  readonly #token: Buffer;
  readonly #executionsPath: string;
  readonly #waiting: Waiting[];
  readonly #slots = new Set<AttachedSlot>();
  #ending = false;
  #isPaused = false;
  #onLost: (error: Error) => void = () => {};
  #onMemory: () => void = () => {};

  private constructor(
    connection: Connection,
    socketPath: string,
    limits: HoldLimits,
    held: Entries,
    waiting: Waiting[],
  ) {
    this.#connection = connection;
    this.limits = limits;
    this.#executionsPath = join(dirname(socketPath), EXECUTIONS_SOCKET);
    this.#token = Buffer.from(held.bytes("TOKEN"));
    this.controls = held.texts("HELD_CONTROL");
    this.controlsMissing = held.texts("HELD_MISSING");
    this.#waiting = waiting;
    connection.onFrame = (frame) => this.#take(frame);
    connection.onEnd = (error) => this.#lose(error);
  }

  /**
   * Makes a sandbox.
   * @param socketPath the launcher's SANDBOXES_SOCKET.
   * @param account a number below 2^32. Sandboxes with the same number have the share of CPU time of one sandbox together.
   * @throws SandboxesFullError if the launcher has no free place, SandboxesImpossibleError if the machine can have none, and another SandboxError if it cannot
   *   make the sandbox.
   */
  static async hold(socketPath: string, limits: HoldLimits, account = 0): Promise<HeldSandbox> {
    const connection = await Connection.open(socketPath);
    const held = await heldBy(connection, encodeHold(limits, account));
    return new HeldSandbox(connection, socketPath, limits, confirmed(connection, held, limits), []);
  }

  /**
   * Takes over a kept sandbox. Connections that it still has are cut off, and what ran through them is killed. All other programs stay stopped until
   * `resume`.
   * @param limits with which it was made.
   * @throws SandboxError if there is none with this token, or if it is not kept.
   */
  static async rejoin(socketPath: string, token: string, limits: HoldLimits): Promise<HeldSandbox> {
    const connection = await Connection.open(join(dirname(socketPath), EXECUTIONS_SOCKET));
    const answer = await heldBy(connection, new FrameWriter("REJOIN").bytes("REJOIN_TOKEN", token));
    const held = new HeldSandbox(connection, socketPath, limits, confirmed(connection, answer, limits), []);
    held.#isPaused = true; // everything stays stopped until `resume`
    return held;
  }

  /** @returns the name of the launcher that runs now (`Hello.launcher`). @throws SandboxError if none runs. */
  static async launcherAt(socketPath: string): Promise<string> {
    const connection = await Connection.open(join(dirname(socketPath), EXECUTIONS_SOCKET));
    connection.close();
    return connection.hello.launcher;
  }

  get hello(): Hello {
    return this.#connection.hello;
  }

  /** The name of the launcher that has it. */
  get launcher(): string {
    return this.#connection.hello.launcher;
  }

  /** Who knows this secret, and may connect to the launcher, can take over the sandbox, and run programs in it. */
  get token(): string {
    return this.#token.toString("latin1");
  }

  /** From now on, the sandbox outlives the connection for a time. */
  keep(): void {
    void this.#connection.send([encodeRaw("KEEP", Buffer.alloc(0))]);
  }

  /** Leaves a kept sandbox to the launcher. What runs through attached slots is killed unless its processes may stay; all programs are stopped. */
  leave(): void {
    this.#ending = true;
    for (const slot of this.#slots) slot.close();
    this.#connection.close();
  }

  /** Opens an attached slot, which runs one execution at a time, and any number one after the other. @throws SandboxesFullError */
  async attach(): Promise<AttachedSlot> {
    if (!this.#connection.alive || this.#ending) throw this.#connection.lost ?? new SandboxError("the sandbox ends");
    const slot = new AttachedSlot(await Connection.open(this.#executionsPath), this.#token, this.limits, (ended) => {
      this.#slots.delete(ended);
    });
    this.#slots.add(slot);
    return slot;
  }

  /** Stops all processes. The time limits of executions stand still. @throws SandboxError if the kernel did not stop all of them. */
  async pause(): Promise<void> {
    for (const slot of this.#slots) slot.holdTime(true);
    const entries = await this.#ask("PAUSE", "PAUSED", ANSWER_MS);
    this.#isPaused = entries.int("FROZEN") === 1;
    if (this.#isPaused) return;
    for (const slot of this.#slots) slot.holdTime(false);
    throw new SandboxError("the processes of the sandbox did not stop");
  }

  /** Continues all processes. @throws SandboxError if the kernel did not continue them. */
  async resume(): Promise<void> {
    const entries = await this.#ask("RESUME", "PAUSED", ANSWER_MS);
    if (entries.int("FROZEN") !== 0) throw new SandboxError("the processes of the sandbox did not continue");
    this.#isPaused = false;
    for (const slot of this.#slots) slot.holdTime(false);
  }

  /**
   * Stops all processes, also if the sandbox is paused, but lets steps with `whileFrozen` run. The time limits of executions that began before
   * stand still. @throws SandboxError if the kernel did not stop all of them; they then go on.
   */
  async freeze(): Promise<void> {
    const slots = [...this.#slots];
    for (const slot of slots) slot.holdTime(true);
    const entries = await this.#ask("FREEZE", "PAUSED", ANSWER_MS);
    if (entries.int("FROZEN") === 1) return;
    for (const slot of slots) slot.holdTime(this.#isPaused);
    throw new SandboxError("the processes of the sandbox did not stop");
  }

  /** Ends `freeze`: the processes continue, or are paused as before. @throws SandboxError if the kernel did not continue them. */
  async thaw(): Promise<void> {
    const entries = await this.#ask("THAW", "PAUSED", ANSWER_MS);
    if ((entries.int("FROZEN") === 1) !== this.#isPaused)
      throw new SandboxError("the processes of the sandbox did not continue");
    for (const slot of this.#slots) slot.holdTime(this.#isPaused);
  }

  async measure(): Promise<Measurement> {
    const entries = await this.#ask("MEASURE", "MEASURED", ANSWER_MS);
    return {
      memoryBytes: entries.int("NOW_MEMORY"),
      memoryPeakBytes: entries.int("MOST_MEMORY"),
      cpuUsec: entries.int("NOW_CPU_USEC"),
      processes: entries.int("NOW_PROCESSES"),
      oomKills: entries.int("ALL_OOM_KILLS"),
      frozen: entries.int("NOW_FROZEN") === 1,
      diskBytes: entries.int("NOW_DISK"),
      inodes: entries.int("NOW_INODES"),
    };
  }

  /** Kills everything and removes the sandbox. @returns what is left of it. */
  async end(): Promise<TeardownReport> {
    this.#ending = true;
    const torn = await this.#ask("END", "TEARDOWN", END_MS);
    // The launcher closes its side when the place is free for another sandbox.
    await Promise.race([this.#connection.closed, sleep(FREE_MS, undefined, { ref: false })]);
    this.#connection.close();
    return decodeTeardown([], torn);
  }

  /** Calls the listener once when the sandbox is lost without `end`; in a microtask if it is lost already. */
  onLost(listener: (error: Error) => void): void {
    const lost = this.#connection.lost;
    this.#onLost = listener;
    if (lost && !this.#ending) queueMicrotask(() => listener(lost));
  }

  /** Calls the listener each time the kernel has killed a process because the sandbox as a whole, or all sandboxes, are out of memory. */
  onMemory(listener: () => void): void {
    this.#onMemory = listener;
  }

  #ask(
    frame: "PAUSE" | "RESUME" | "FREEZE" | "THAW" | "MEASURE" | "END",
    answer: Frame["name"],
    timeoutMs: number,
  ): Promise<Entries> {
    return new Promise((resolve, reject) => {
      const { lost } = this.#connection;
      if (lost) return reject(lost);
      const late = () => new SandboxError(`the holder of the sandbox did not answer ${frame} in time`);
      const timer = setTimeout(() => this.#connection.end(late()), timeoutMs);
      this.#waiting.push({ answer, resolve, reject, timer });
      void this.#connection.send([encodeRaw(frame, Buffer.alloc(0))]);
    });
  }

  #take(frame: Frame): void {
    if (frame.name === "MEMORY_ENDED") {
      this.#onMemory();
      return;
    }
    /* Without an END before it, a TEARDOWN says that the sandbox has ended by itself. */
    if (frame.name === "TEARDOWN" && this.#waiting[0]?.answer !== "TEARDOWN")
      throw new SandboxError("the init of the sandbox was lost");
    const waiting = this.#waiting.shift();
    if (waiting?.answer !== frame.name) throw waiting ? refusal(frame) : new ProtocolError(`unexpected ${frame.name}`);
    clearTimeout(waiting.timer);
    waiting.resolve(new Entries(copied(frame)));
  }

  #lose(error: Error): void {
    for (const { timer, reject } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      reject(error);
    }
    if (!this.#ending) this.#onLost(error);
  }
}

/** The number of an account for the launcher. Two accounts that have the same one, which is improbable, share their CPU time. */
function numberOf(accountId: string): number {
  return createHash("sha256").update(accountId).digest().readUInt32LE();
}

/** The sandboxes of the launcher whose socket for slots has this path. */
export function sandboxesOf(launcherSocket: string) {
  const path = join(dirname(launcherSocket), SANDBOXES_SOCKET);
  return {
    hold: (limits: HoldLimits, accountId: string, network: string | null) =>
      HeldSandbox.hold(path, { ...limits, network }, numberOf(accountId)),
    rejoin: (token: string, limits: HoldLimits, network: string | null) =>
      HeldSandbox.rejoin(path, token, { ...limits, network }),
    launcher: () => HeldSandbox.launcherAt(path),
  };
}

/** Sends a HOLD or a REJOIN, and waits for the answer. */
async function heldBy(connection: Connection, request: FrameWriter): Promise<Entries> {
  return await new Promise<Entries>((resolve, reject) => {
    const timer = setTimeout(() => connection.end(new SandboxError("the sandbox was not made in time")), HOLD_MS);
    const settle =
      <T>(act: (value: T) => void) =>
      (value: T) => {
        clearTimeout(timer);
        act(value);
      };
    connection.onFrame = (frame) => {
      if (frame.name !== "HELD") throw refusal(full(frame));
      settle(resolve)(new Entries(copied(frame)));
    };
    connection.onEnd = settle(reject);
    void connection.send(request.pieces());
  });
}

/** @throws SandboxError if the sandbox is to have a network, and the launcher has not confirmed that only the proxy can be reached. The connection is closed then. */
function confirmed(connection: Connection, held: Entries, limits: HoldLimits): Entries {
  if (!limits.network || held.texts("HELD_CONTROL").includes("no_route_out")) return held;
  connection.close();
  throw new SandboxError("the launcher has not confirmed that the network of the sandbox has no route out");
}

/** A frame that does not keep the chunk of the socket in memory. */
function copied({ name, body }: Frame): Frame {
  return { name, body: Buffer.from(body) };
}

interface Running {
  readonly step: ExecutionStep;
  readonly onOutput: OnExecutionOutput;
  readonly onBegun: OnExecutionBegun;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly startedMs: number;
  readonly resolve: (report: ExecutionReport) => void;
  readonly reject: (error: Error) => void;
  ended: { readonly entries: Entries; readonly atMs: number } | null;
  timer: NodeJS.Timeout | null;
}

/** A slot that runs programs in a sandbox, one after the other. */
export class AttachedSlot {
  readonly #connection: Connection;
  readonly #token: Buffer;
  readonly #limits: HoldLimits;
  readonly #gone: (slot: AttachedSlot) => void;
  #running: Running | null = null;
  #isPaused = false;
  #used = false;
  /** The frames that the launcher has not taken yet, in their order, and who waits for that. */
  #underWay: ("input" | "control")[] = [];
  #size: Buffer | null = null;
  readonly #signals = new Set<number>();
  #waiting: (() => void)[] = [];
  #inputs: Promise<void> = Promise.resolve();

  constructor(connection: Connection, token: Buffer, limits: HoldLimits, gone: (slot: AttachedSlot) => void) {
    this.#connection = connection;
    this.#token = token;
    this.#limits = limits;
    this.#gone = gone;
    connection.onFrame = (frame) => this.#take(frame);
    connection.onEnd = (error) => this.#lose(error);
  }

  /** Whether it can run another execution when the present one has ended. */
  get alive(): boolean {
    return this.#connection.alive && !this.#used;
  }

  /**
   * Runs a program.
   * @param onOutput receives its output. If the step is not paced, promises are ignored.
   * @param onBegun hears by which number its connections are known.
   * @returns the report, also if the program fails, or cannot be started (`failure`).
   * @throws StepSizeError if the step is too large, and another SandboxError if there is no report; the slot is then lost.
   */
  run(
    step: ExecutionStep,
    onOutput: OnExecutionOutput = () => {},
    onBegun: OnExecutionBegun = () => {},
  ): Promise<ExecutionReport> {
    return new Promise((resolve, reject) => {
      if (this.#connection.lost) return reject(this.#connection.lost);
      if (!this.alive || this.#running) return reject(new SandboxError("the slot is not idle"));
      if (!fits(step))
        return reject(new StepSizeError("the execution has too many or too long arguments or variables"));
      const frames = encodeExecution(step, this.#token, this.#limits);
      this.#underWay = [];
      this.#size = null;
      this.#signals.clear();
      this.#running = {
        step,
        onOutput,
        onBegun,
        stdout: new Captured(),
        stderr: new Captured(),
        startedMs: performance.now(),
        resolve,
        reject,
        ended: null,
        timer: null,
      };
      this.#startTimer();
      void this.#connection.send(frames);
      if (isLive(step) && step.stdin.length > 0) void this.input(step.stdin);
    });
  }

  /**
   * Passes input to the program, in order. An empty buffer ends the input; in a terminal, it is the character that ends a line's input. Call it
   * again only when the promise has resolved, because pieces wait in memory. The bytes must not change until then.
   * @returns a promise that resolves when the launcher has the input, which can take until the program reads. After the end of the program,
   * input has no effect.
   */
  input(bytes: Buffer): Promise<void> {
    const running = this.#running;
    this.#inputs = this.#inputs.then(() => (running && this.#running === running ? this.#send(bytes) : undefined));
    return this.#inputs;
  }

  async #send(bytes: Buffer): Promise<void> {
    let at = 0;
    do {
      while (this.#takesInput() && this.#count("input") >= INPUTS_UNDER_WAY)
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (!this.#takesInput()) return;
      const piece = bytes.subarray(at, at + MAX_INPUT_BYTES);
      this.#underWay.push("input");
      // Of a small piece, a copy takes less time than a write of two buffers.
      const isSmall = piece.length <= SMALL_INPUT_BYTES;
      await this.#connection.send(isSmall ? [encodeRaw("INPUT", piece)] : [rawHeader("INPUT", piece.length), piece]);
      at += piece.length;
    } while (at < bytes.length);
  }

  #count(kind: "input" | "control"): number {
    return this.#underWay.filter((one) => one === kind).length;
  }

  /** Sends what waits, without filling the socket: the end of the connection, which kills the program, must never be behind other frames. */
  #sendControls(): void {
    while (this.#takesInput() && this.#count("control") < CONTROLS_UNDER_WAY) {
      const [number] = this.#signals;
      const size = this.#size;
      if (number !== undefined) this.#signals.delete(number);
      else if (size) this.#size = null;
      else return;
      this.#underWay.push("control");
      void this.#connection.send([number !== undefined ? encodeSignal(number) : encodeRaw("RESIZE", size as Buffer)]);
    }
  }

  /**
   * Sends HUP, INT, QUIT, KILL, USR1, USR2 or TERM to the program of a step with `live` input. Does not wait until the program has read the
   * input that was sent before, after which it gets the signal.
   */
  async signal(number: number): Promise<void> {
    if (!this.#takesInput()) return;
    this.#signals.add(number);
    this.#sendControls();
  }

  /** Gives the terminal of the program another size. Does not wait either; of many sizes, the last one counts. */
  async resize(rows: number, cols: number): Promise<void> {
    if (!this.#takesInput() || !this.#running?.step.terminal) return;
    const body = Buffer.alloc(4);
    body.writeUInt16LE(rows, 0);
    body.writeUInt16LE(cols, 2);
    this.#size = body;
    this.#sendControls();
  }

  /** Kills the program with all its descendants. Its report has the reason `client`. The slot runs no further execution. */
  kill(): void {
    if (!this.#running) this.close();
    this.#used = true;
    this.#wake(); // no further input is sent
    if (this.#running) this.#connection.finish();
  }

  /** Closes the slot, and kills its program without a report. */
  close(): void {
    this.#used = true;
    this.#connection.end(new SandboxError("the slot was closed"));
  }

  /** While the sandbox is paused, no time passes for its executions. */
  holdTime(paused: boolean): void {
    this.#isPaused = paused;
    if (this.#running) this.#startTimer();
  }

  #takesInput(): boolean {
    return (
      this.#connection.alive &&
      this.#running !== null &&
      isLive(this.#running.step) &&
      !this.#running.ended &&
      !this.#used
    );
  }

  #startTimer(): void {
    const running = this.#running;
    if (!running) return;
    if (running.timer) clearTimeout(running.timer);
    const end = () => this.#connection.end(new SandboxError("the slot did not respond in time"));
    const ms = running.step.limits.wallMs + SILENCE_MS;
    running.timer = this.#isPaused ? null : setTimeout(end, ms);
  }

  #take(frame: Frame): void | Promise<void> {
    const running = this.#running;
    if (!running) {
      if (frame.name === "FAILED" || frame.name === "REFUSED") throw refusal(frame);
      if (frame.name === "TAKEN") return;
      throw new ProtocolError(`${frame.name} while nothing runs`);
    }
    switch (frame.name) {
      case "STDOUT":
        return this.#output(running, "stdout", frame.body);
      case "STDERR":
        return this.#output(running, "stderr", frame.body);
      case "TAKEN":
        this.#underWay.shift();
        this.#wake();
        this.#sendControls();
        return;
      case "ENDING":
        this.#startTimer();
        return;
      case "BEGUN":
        running.onBegun(new Entries(frame).big("GROUP_ID") ?? 0n);
        return;
      case "ENDED":
        running.ended = { entries: new Entries(copied(frame)), atMs: performance.now() };
        this.#wake();
        return;
      case "TEARDOWN":
        this.#finish(running, new Entries(copied(frame)));
        return;
      default:
        throw refusal(full(frame));
    }
  }

  #output(running: Running, stream: "stdout" | "stderr", bytes: Buffer): void | Promise<void> {
    if (!(running.step.paced && stream === "stdout")) running[stream].push(bytes);
    const waiting = running.onOutput(stream, bytes);
    return running.step.paced && waiting ? waiting : undefined;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #finish(running: Running, torn: Entries): void {
    if (!running.ended) throw new ProtocolError("TEARDOWN before ENDED");
    const { entries, atMs } = running.ended;
    const { limits } = running.step;
    const output = { stdout: running.stdout.bytes(), stderr: running.stderr.bytes() };
    this.#running = null;
    if (running.timer) clearTimeout(running.timer);
    this.#wake();
    running.resolve({
      ...decodeReport(this.#connection.hello, entries, torn, output),
      inSandbox: true,
      cpuLimitUsec: limits.cpuMs * 1e3,
      kernelLimitBytes: running.step.kernelBytes ?? kernelBytes(limits),
      walkableLimitBytes: walkableBytes(limits),
      spentMs: { run: atMs - running.startedMs, teardown: performance.now() - atMs },
      processesLeft: entries.optionalInt("PROCESSES_LEFT") ?? 0,
    });
  }

  #lose(error: Error): void {
    const running = this.#running;
    this.#running = null;
    if (running?.timer) clearTimeout(running.timer);
    this.#wake();
    this.#gone(this);
    running?.reject(error);
  }
}

/** A program in a terminal always takes input. */
function isLive({ live, terminal }: ExecutionStep): boolean {
  return live || terminal !== null;
}

function fits({ command, env }: ExecutionStep): boolean {
  const variables = Object.entries(env);
  if (command.length < 1 || command.length > MAX_ARGS || variables.length > MAX_ENV) return false;
  let bytes = 0;
  for (const arg of command) {
    const size = Buffer.byteLength(arg);
    if (size > MAX_ARG_BYTES || arg.includes("\0")) return false;
    bytes += size + 2;
  }
  for (const [name, value] of variables) {
    const size = Buffer.byteLength(name) + Buffer.byteLength(value);
    if (size >= MAX_VARIABLE_BYTES || name.includes("\0") || value.includes("\0")) return false;
    bytes += size + 4;
  }
  return bytes <= MAX_COMMAND_BYTES;
}

/** The HOLD frame. */
export function encodeHold(limits: HoldLimits, account: number): FrameWriter {
  const frame = new FrameWriter("HOLD")
    .int("HOLD_MEMORY", limits.memoryBytes)
    .int("HOLD_PROCESSES", limits.processes)
    .int("HOLD_DISK", limits.diskBytes)
    .int("HOLD_INODES", limits.inodes)
    .int("HOLD_ON_DISK", limits.storage === "disk" ? 1 : 0)
    .int("HOLD_ACCOUNT", account);
  return limits.network ? frame.bytes("HOLD_NETWORK", limits.network) : frame;
}

/** The STEP frame of an execution, in pieces that must not change until they are sent. */
export function encodeExecution(step: ExecutionStep, token: Buffer, sandbox: Pick<HoldLimits, "processes">): Buffer[] {
  const frame = new FrameWriter("STEP");
  for (const arg of step.command) frame.bytes("ARG", arg);
  for (const [name, value] of Object.entries(step.env)) frame.bytes("ENV", `${name}=${value}`);
  frame.bytes("STDIN", isLive(step) ? Buffer.alloc(0) : step.stdin).bytes("SANDBOX", token);
  const own: Partial<Record<KeyName, number>> = {
    PROCESSES_RLIMIT: Math.min(MAX_PROCESSES_RLIMIT, sandbox.processes + PROCESS_RLIMIT_ABOVE),
    ...(step.kernelBytes !== undefined && { KERNEL_BYTES: step.kernelBytes }),
  };
  for (const { name, of } of LIMIT_ENTRIES) frame.int(name, own[name] ?? of(step.limits) ?? UNLIMITED);
  if (step.cwd !== null) frame.bytes("CWD", step.cwd);
  if (step.whileFrozen) frame.int("WHILE_FROZEN", 1);
  if (step.terminal) frame.int("ROWS", step.terminal.rows).int("COLUMNS", step.terminal.cols);
  return frame
    .int("LEAVE_PROCESSES", step.leaveProcesses ? 1 : 0)
    .int("PACED", step.paced ? 1 : 0)
    .int("KEEP_WORK", 0)
    .int("MORE", 0)
    .int("COLLECT", 0)
    .int("KEEP_FILES", 0)
    .int("SAMPLE_MS", SAMPLE_MS)
    .int("LIVE_STDIN", isLive(step) ? 1 : 0)
    .pieces();
}
const SAMPLE_MS = 1000;
const MAX_PROCESSES_RLIMIT = 65_536;
