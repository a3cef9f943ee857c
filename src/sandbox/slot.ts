import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Captured } from "../domain/captured.ts";
import type { StepReport, WorkFile } from "../domain/report.ts";
import { greet, refusal, SandboxError, StepSizeError } from "./refusal.ts";
import { decodeEndedProgram, decodeFile, decodeReport, type EndedProgram, type Hello } from "./report.ts";
import { SlotFileCache } from "./slot-file-cache.ts";
import {
  encodeInput,
  encodePark,
  encodePeer,
  encodeSignal,
  fitsStep,
  hasNamesOnce,
  kernelBytes,
  type Step,
  walkableBytes,
} from "./step.ts";
import { Entries, type Frame, FrameReader, ProtocolError } from "./wire.ts";

const [OPEN_MS, PARK_MS] = [30_000, 30_000];

/**
 * A slot may take this much longer for a step than the limit of wall time. Set-up, evidence and teardown have deadlines of their own. The
 * sum of these is smaller, even for a program that cannot be killed: 15 s, and again 15 s for the teardown. While a killed program still
 * uses CPU time, its slot sends ENDING, and this time begins again.
 */
const SILENCE_MS = 45_000;

/**
 * The launcher kills a slot this long after its client has left (SLOT_END_MS in launcher/serve.c). If the end of the connection could not
 * be sent, the box counts for this time, because nothing tells when it has been removed.
 */
const SLOT_END_MS = 10_000;

/**
 * How long `cancel` waits for the launcher to remove the box. The launcher itself waits 90 s at most for a killed program that still uses
 * CPU time, 15 s for one that does not, and 15 s for the teardown.
 */
const CANCEL_MS = 180_000;

/** Receives output while the program runs. The bytes are valid only until the function returns. */
export type OnOutput = (stream: "stdout" | "stderr", bytes: Buffer) => void;

/** A runtime that waits in a slot. */
export interface ParkedRuntime {
  /** False if the runtime did not start, or the command of the step has none. */
  readonly waiting: boolean;
  /** Memory that its box uses. */
  readonly bytes: number;
}

interface Parking {
  readonly resolve: (parked: ParkedRuntime) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** What the slot has sent about a step so far. */
interface StepOutput {
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly files: WorkFile[];
  readonly limitsOfStep: Pick<StepReport, "cpuLimitUsec" | "kernelLimitBytes" | "walkableLimitBytes">;
  ended: { readonly entries: Entries; readonly atMs: number } | null;
}

interface Running {
  /** One for the step, followed in a pair by one for the peer. */
  readonly outputs: readonly StepOutput[];
  readonly reports: StepReport[];
  /** Whether no step follows that keeps the work directory. */
  readonly last: boolean;
  /** Whether the step takes input while it runs. */
  readonly live: boolean;
  readonly onOutput: OnOutput;
  readonly startedMs: number;
  readonly resolve: (reports: readonly StepReport[]) => void;
  readonly reject: (error: Error) => void;
  readonly timeoutMs: number;
  timer: NodeJS.Timeout;
}

/** The buffer into which all slots read, one after the other. Without it, Node would allocate a buffer of this size for each read. */
const READ = Buffer.alloc(64 * 1024);

/**
 * One slot of the launcher: a connection that runs one step, or one pair, at a time. The launcher forks a process for the connection,
 * which keeps a box ready. Closing the connection kills the running program.
 */
export class Slot {
  readonly hello: Hello;
  isClosed = false; // closed or cancelled by this process, and therefore not lost
  /** Resolves when the connection has ended, and after `cancel`, when the box of the slot has been removed. */
  gone: Promise<void>;
  readonly #socket: Socket;
  readonly #fileCache = new SlotFileCache();
  #running: Running | null = null;
  #parking: Parking | null = null;
  #lost: Error | null = null;
  #onLost: () => void = () => {};
  #onEnded: (end: EndedProgram) => void = () => {};

  private constructor(socket: Socket, hello: Hello) {
    this.#socket = socket;
    this.hello = hello;
    this.gone = new Promise((resolve) => socket.once("close", () => resolve()));
  }

  /** Opens a slot. Resolves when it has a box with every control in place. @throws SandboxError or ProtocolError if it gets none. */
  static open(socketPath: string): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const socket = connect({ path: socketPath, onread: { buffer: READ, callback: (size) => take(size) } });
      const reader = new FrameReader();
      let slot: Slot | null = null;
      const lose = (error: Error) => {
        clearTimeout(timer);
        socket.destroy();
        if (slot) slot.#lose(error);
        reject(error);
      };
      const timer = setTimeout(() => lose(new SandboxError("the launcher did not respond")), OPEN_MS);
      const take = (size: number) => {
        if (slot?.isClosed) return true;
        try {
          for (const frame of reader.push(Buffer.from(READ.subarray(0, size)))) {
            if (slot) {
              slot.#take(frame);
            } else {
              slot = new Slot(socket, greet(frame));
              clearTimeout(timer);
              resolve(slot);
            }
          }
        } catch (error) {
          lose(error as Error);
        }
        return true;
      };
      socket.on("error", (error) => lose(new SandboxError(`the launcher cannot be reached: ${error.message}`)));
      socket.on("close", () => lose(new SandboxError("the slot closed its connection")));
    });
  }

  /** False once the slot is lost or closed. */
  get alive(): boolean {
    return this.#lost === null && !this.#socket.destroyed;
  }

  /**
   * Runs one step. If the program fails, the report says so.
   * @throws SandboxError or ProtocolError if there is no report; the slot is then lost.
   */
  async run(step: Step, onOutput: OnOutput = () => {}): Promise<StepReport> {
    return (await this.#run([step], () => this.#fileCache.encode(step), onOutput))[0] as StepReport;
  }

  /**
   * Runs a step and its peer. The output of each is the only input of the other. The step must have no files to collect and no step after
   * it, and the peer must start in a fresh work directory.
   * @param onOutput receives the output of the step.
   */
  async runPair(step: Step, peer: Step, onOutput: OnOutput = () => {}): Promise<readonly [StepReport, StepReport]> {
    const frames = () => [...encodePeer(peer), ...this.#fileCache.encode(step)];
    const [report, ofPeer] = await this.#run([step, peer], frames, onOutput);
    return [report as StepReport, ofPeer as StepReport];
  }

  #run(steps: readonly Step[], encode: () => readonly Buffer[], onOutput: OnOutput): Promise<readonly StepReport[]> {
    return new Promise((resolve, reject) => {
      if (this.#lost) return reject(this.#lost);
      if (this.#running || this.#parking) return reject(new SandboxError("the slot is running another step"));
      // The launcher would close the slot.
      if (!steps.every(fitsStep)) return reject(new StepSizeError("the step has too many files or bytes"));
      if (!steps.every(hasNamesOnce)) return reject(new SandboxError("two files of the step have the same name"));
      const frames = encode(); // throws for an invalid limit, before anything has started
      const wallMs = steps.reduce((sum, { limits }) => sum + limits.wallMs, 0);
      const timeoutMs = wallMs + steps.length * SILENCE_MS;
      const outputs = steps.map(({ limits }) => ({
        stdout: new Captured(),
        stderr: new Captured(),
        files: [],
        limitsOfStep: {
          cpuLimitUsec: limits.cpuMs * 1e3,
          kernelLimitBytes: kernelBytes(limits),
          walkableLimitBytes: walkableBytes(limits),
        },
        ended: null,
      }));
      const last = steps.every(({ more }) => !more);
      const live = steps.some((step) => step.live);
      this.#running = {
        outputs,
        reports: [],
        last,
        live,
        onOutput,
        startedMs: performance.now(),
        resolve,
        reject,
        timeoutMs,
        timer: this.#startTimer(timeoutMs),
      };
      this.#write(frames);
    });
  }

  /**
   * Passes input to the program of a running step with `live` input, in order. An empty buffer ends the input. After the end of the
   * program, this has no effect.
   * @returns a promise that resolves when the input has been written to the connection. That can take until the program reads its input.
   */
  input(bytes: Buffer): Promise<void> {
    return this.#pass(encodeInput(bytes));
  }

  /** Sends HUP, INT, QUIT, KILL, USR1, USR2 or TERM to the main program of a running step with `live` input. */
  signal(number: number): Promise<void> {
    return this.#pass([encodeSignal(number)]);
  }

  #pass(frames: readonly Buffer[]): Promise<void> {
    const running = this.#running;
    if (!running?.live || running.outputs[0]?.ended) return Promise.resolve();
    // The promise also resolves after an error of the connection, because the run then ends with this error.
    return new Promise((resolve) => this.#socket.write(Buffer.concat(frames), () => resolve()));
  }

  /**
   * Prepares a box for a step with this command and these limits, and starts the runtime of the command, if it has one. Files and input
   * are sent later, with the step. If the step keeps the work directory, the box uses the directory of the step that is parked before it.
   * @throws SandboxError if the slot is lost.
   */
  park(step: Step): Promise<ParkedRuntime> {
    return new Promise((resolve, reject) => {
      if (this.#lost) return reject(this.#lost);
      if (this.#running || this.#parking) return reject(new SandboxError("the slot is not idle"));
      const timer = this.#startTimer(PARK_MS);
      this.#parking = { resolve, reject, timer };
      this.#write(encodePark(step));
    });
  }

  /** Calls `listener` once when the slot is lost; in a microtask if it is lost already. */
  onLost(listener: () => void): void {
    if (this.#lost) queueMicrotask(listener);
    else this.#onLost = listener;
  }

  /** Calls `listener` each time the program of a last step has ended, while its box is still being removed. */
  onEnded(listener: (end: EndedProgram) => void): void {
    this.#onEnded = listener;
  }

  /** Kills the program and gives the slot up; `gone` resolves when its box has been removed. The run is rejected at once. */
  cancel(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.#socket.writableLength > 0) {
      // Live input that the program does not read would precede the end of this side, and the program would not be killed.
      this.#socket.destroy();
      const closed = this.gone;
      this.gone = closed.then(() => sleep(SLOT_END_MS, undefined, { ref: false }));
    } else {
      // The launcher reads the end of this side, and can still write: it closes its own side when the box has been removed.
      this.#socket.end();
      const timer = setTimeout(() => this.#socket.destroy(), CANCEL_MS);
      void this.gone.then(() => clearTimeout(timer));
    }
    this.#abandon(new SandboxError("the run was cancelled"));
  }

  /** Closes the slot and kills its program, without waiting for the removal of its box. */
  close(): void {
    this.isClosed = true;
    this.#socket.destroy();
  }

  #startTimer(timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#lose(new SandboxError("the slot did not respond in time")), timeoutMs);
  }

  #write(pieces: readonly Buffer[]): void {
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  #take(frame: Frame): void {
    const running = this.#running;
    const answer = running?.outputs[running.reports.length];
    if (!running || !answer) {
      if (this.#parking && frame.name === "PARKED") {
        this.#finishParking(this.#parking, new Entries(frame));
        return;
      }
      if (frame.name === "FAILED" || frame.name === "REFUSED") throw refusal(frame);
      throw new ProtocolError(`${frame.name} while nothing runs`);
    }
    switch (frame.name) {
      case "STDOUT":
        answer.stdout.push(frame.body);
        if (answer === running.outputs[0]) running.onOutput("stdout", frame.body);
        break;
      case "STDERR":
        answer.stderr.push(frame.body);
        if (answer === running.outputs[0]) running.onOutput("stderr", frame.body);
        break;
      case "ENDING":
        clearTimeout(running.timer);
        running.timer = this.#startTimer(running.timeoutMs);
        break;
      case "FILE":
        answer.files.push(decodeFile(new Entries(frame)));
        break;
      case "ENDED":
        answer.ended = { entries: new Entries(frame), atMs: performance.now() };
        if (running.last && answer === running.outputs.at(-1)) this.#onEnded(decodeEndedProgram(answer.ended.entries));
        break;
      case "TEARDOWN":
        this.#finish(running, answer, new Entries(frame));
        break;
      default:
        throw refusal(frame);
    }
  }

  #finishParking({ resolve, timer }: Parking, entries: Entries): void {
    this.#parking = null;
    clearTimeout(timer);
    resolve({ waiting: entries.int("WAITING") === 1, bytes: entries.int("WAITING_BYTES") });
  }

  #finish(running: Running, answer: StepOutput, torn: Entries): void {
    if (!answer.ended) throw new ProtocolError("TEARDOWN before ENDED");
    const { entries, atMs } = answer.ended;
    const output = { stdout: answer.stdout.bytes(), stderr: answer.stderr.bytes() };
    const decoded = decodeReport(this.hello, entries, torn, output);
    const report = answer.files.length > 0 ? { ...decoded, files: answer.files } : decoded;
    const spentMs = { run: atMs - running.startedMs, teardown: performance.now() - atMs };
    running.reports.push({ ...report, ...answer.limitsOfStep, spentMs });
    if (running.reports.length < running.outputs.length) return;
    this.#running = null;
    clearTimeout(running.timer);
    running.resolve(running.reports);
  }

  #lose(error: Error): void {
    if (this.#lost) return;
    this.#socket.destroy();
    this.#abandon(error);
  }

  #abandon(error: Error): void {
    if (this.#lost) return;
    this.#lost = error;
    for (const waiting of [this.#running, this.#parking]) {
      clearTimeout(waiting?.timer);
      waiting?.reject(error);
    }
    this.#running = null;
    this.#parking = null;
    this.#onLost();
  }
}
