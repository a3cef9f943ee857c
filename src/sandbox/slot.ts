import { connect, type Socket } from "node:net";
import { OperatorError } from "../domain/operator-error.ts";
import type { StepReport, WorkFile } from "../domain/report.ts";
import { ourBuild } from "./build.ts";
import { Captured } from "./captured.ts";
import { PROTOCOL_VERSION } from "./protocol.ts";
import { decodeFile, decodeHello, decodeReport, type Hello } from "./report.ts";
import { encodePark, encodeStep, fitsStep, kernelBytes, type Step } from "./step.ts";
import { Entries, type Frame, FrameReader, ProtocolError } from "./wire.ts";

/** The launcher or a slot is lost, refused the request or could not create a box: a platform failure. */
export class SandboxError extends OperatorError {
  override readonly name = "SandboxError";
}

const OPEN_MS = 30_000;
const PARK_MS = 30_000;

/**
 * Time that a slot may take in addition to the wall limit. Set-up, evidence and teardown have their own deadlines, whose
 * sum is smaller even for a program that cannot be killed (15 s, then the same for the teardown).
 */
const SILENCE_MS = 45_000;

/** Receives output while the program runs. The bytes are valid only until it returns. */
export type OnOutput = (stream: "stdout" | "stderr", bytes: Buffer) => void;

/** A runtime that waits in a slot. */
export interface ParkedRuntime {
  /** False if it did not start, or the step has none. */
  readonly waiting: boolean;
  /** Memory of its box. */
  readonly bytes: number;
}

interface Parking {
  readonly resolve: (parked: ParkedRuntime) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

interface Running {
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly onOutput: OnOutput;
  readonly files: WorkFile[];
  readonly startedMs: number;
  readonly limitsOfStep: Pick<StepReport, "cpuLimitUsec" | "kernelLimitBytes">;
  ended: { readonly entries: Entries; readonly atMs: number } | null;
  readonly resolve: (report: StepReport) => void;
  readonly reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

/**
 * One slot of the launcher: a connection that runs one step at a time. The launcher forks a
 * process for it and keeps a box ready. Closing the connection kills the running program.
 */
export class Slot {
  readonly hello: Hello;
  readonly #socket: Socket;
  #running: Running | null = null;
  #parking: Parking | null = null;
  #lost: Error | null = null;
  #onLost: () => void = () => {};

  private constructor(socket: Socket, hello: Hello) {
    this.#socket = socket;
    this.hello = hello;
  }

  /** Resolves when the slot has a box with every control in place. @throws SandboxError if it cannot. */
  static open(socketPath: string): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const socket = connect(socketPath);
      const reader = new FrameReader();
      let slot: Slot | null = null;
      const lose = (error: Error) => {
        clearTimeout(timer);
        socket.destroy();
        if (slot) slot.#lose(error);
        reject(error);
      };
      const timer = setTimeout(() => lose(new SandboxError("the launcher did not respond")), OPEN_MS);
      socket.on("data", (chunk: Buffer) => {
        try {
          for (const frame of reader.push(chunk)) {
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
      });
      socket.on("error", (error) => lose(new SandboxError(`the launcher cannot be reached: ${error.message}`)));
      socket.on("close", () => lose(new SandboxError("the slot closed its connection")));
    });
  }

  /** False once the slot is lost or closed. */
  get alive(): boolean {
    return this.#lost === null && !this.#socket.destroyed;
  }

  /**
   * Runs one step. Failures of the program are in the report.
   * @throws SandboxError or ProtocolError if there is no report; the slot is then lost.
   */
  run(step: Step, onOutput: OnOutput = () => {}): Promise<StepReport> {
    return new Promise((resolve, reject) => {
      if (this.#lost) return reject(this.#lost);
      if (this.#running || this.#parking) return reject(new SandboxError("the slot is running another step"));
      // The launcher would close the slot.
      if (!fitsStep(step)) return reject(new SandboxError("the step has too many files or bytes"));
      const frame = encodeStep(step); // throws for an invalid limit, before anything has started
      const timer = setTimeout(() => {
        this.#lose(new SandboxError("the slot did not respond in time"));
      }, step.limits.wallMs + SILENCE_MS);
      const output = { stdout: new Captured(), stderr: new Captured(), onOutput, files: [] };
      const limitsOfStep = { cpuLimitUsec: step.limits.cpuMs * 1e3, kernelLimitBytes: kernelBytes(step.limits) };
      this.#running = { ...output, startedMs: performance.now(), limitsOfStep, ended: null, resolve, reject, timer };
      this.#socket.write(frame);
    });
  }

  /**
   * Prepares a box for a step with this command and these limits, and starts the runtime of the command. Files and input are sent
   * with the step. If the step keeps the work directory, the box is on the directory of the step before it.
   * @throws SandboxError if the slot is lost.
   */
  park(step: Step): Promise<ParkedRuntime> {
    return new Promise((resolve, reject) => {
      if (this.#lost) return reject(this.#lost);
      if (this.#running || this.#parking) return reject(new SandboxError("the slot is not idle"));
      const timer = setTimeout(() => this.#lose(new SandboxError("the slot did not respond in time")), PARK_MS);
      this.#parking = { resolve, reject, timer };
      this.#socket.write(encodePark(step));
    });
  }

  /** Calls back once when the slot is lost for any reason, in a microtask if it already is. */
  onLost(listener: () => void): void {
    if (this.#lost) queueMicrotask(listener);
    else this.#onLost = listener;
  }

  /** Closes the slot and kills its program. */
  close(): void {
    this.#socket.destroy();
  }

  #take(frame: Frame): void {
    const running = this.#running;
    if (!running) {
      if (this.#parking && frame.name === "PARKED") {
        this.#finishParking(this.#parking, new Entries(frame));
        return;
      }
      if (frame.name === "FAILED" || frame.name === "REFUSED") throw refusal(frame);
      throw new ProtocolError(`${frame.name} while nothing runs`);
    }
    switch (frame.name) {
      case "STDOUT":
        running.stdout.push(frame.body);
        running.onOutput("stdout", frame.body);
        break;
      case "STDERR":
        running.stderr.push(frame.body);
        running.onOutput("stderr", frame.body);
        break;
      case "FILE":
        running.files.push(decodeFile(new Entries(frame)));
        break;
      case "ENDED":
        running.ended = { entries: new Entries(frame), atMs: performance.now() };
        break;
      case "TEARDOWN":
        this.#finish(running, new Entries(frame));
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

  #finish(running: Running, torn: Entries): void {
    if (!running.ended) throw new ProtocolError("TEARDOWN before ENDED");
    const output = { stdout: running.stdout.bytes(), stderr: running.stderr.bytes() };
    const { entries, atMs } = running.ended;
    const decoded = decodeReport(this.hello, entries, torn, output);
    const report = running.files.length > 0 ? { ...decoded, files: running.files } : decoded;
    const spentMs = { run: atMs - running.startedMs, teardown: performance.now() - atMs };
    this.#running = null;
    clearTimeout(running.timer);
    running.resolve({ ...report, ...running.limitsOfStep, spentMs });
  }

  #lose(error: Error): void {
    if (this.#lost) return;
    this.#lost = error;
    this.#socket.destroy();
    for (const waiting of [this.#running, this.#parking]) {
      clearTimeout(waiting?.timer);
      waiting?.reject(error);
    }
    this.#running = null;
    this.#parking = null;
    this.#onLost();
  }
}

function greet(frame: Frame): Hello {
  if (frame.name !== "HELLO") throw refusal(frame);
  const entries = new Entries(frame);
  if (entries.int("PROTOCOL") !== PROTOCOL_VERSION) {
    throw new ProtocolError(`the launcher uses protocol ${entries.int("PROTOCOL")}, not ${PROTOCOL_VERSION}`);
  }
  const hello = decodeHello(entries);
  if (hello.build !== ourBuild()) {
    throw new ProtocolError(`the launcher has another build (${hello.build}) than this service (${ourBuild()})`);
  }
  return hello;
}

function refusal(frame: Frame): Error {
  if (frame.name === "FAILED") {
    const entries = new Entries(frame);
    const what = `${entries.text("STEP_NAME")} ${entries.text("STEP_OBJECT")}`;
    return new SandboxError(`no box: ${what} (errno ${entries.int("STEP_ERRNO")})`);
  }
  if (frame.name === "REFUSED") {
    const entries = new Entries(frame);
    return new SandboxError(`the launcher refused the request: ${entries.text("OBJECT")} ${entries.text("REASON")}`);
  }
  return new ProtocolError(`unexpected ${frame.name}`);
}
