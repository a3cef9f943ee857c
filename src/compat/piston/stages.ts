import { TextDecoder } from "node:util";
import type { LongText } from "../../domain/json-pieces.ts";
import type { Language } from "../../domain/language.ts";
import type { LivePiece } from "../../store/live/types.ts";
import type { pistonAnswer } from "./answer.ts";

/** The most bytes of output in a message. As JSON, they can be six times as long. */
const SLICE = 65_536;

type Stream = LivePiece["stream"];
type PistonResponse = ReturnType<typeof pistonAnswer>;

/** Sends the messages about a run in Piston's order: the beginning of a stage, its output, and its end, for each stage. */
export class Stages {
  readonly #compiles: boolean;
  readonly #send: (value: object) => Promise<void>;
  readonly #streams = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  readonly #sent = { stdout: 0, stderr: 0 };
  #stage: "compile" | "run" | null = null;

  constructor({ compile }: Language, send: (value: object) => Promise<void>) {
    this.#compiles = compile !== null;
    this.#send = send;
  }

  async compiling(): Promise<void> {
    if (this.#compiles && this.#stage === null) await this.#enter("compile");
  }

  async output({ stream, bytes }: Pick<LivePiece, "stream" | "bytes">): Promise<void> {
    await this.#run();
    this.#sent[stream] += bytes.length;
    await this.#data(stream, bytes);
  }

  /**
   * Sends the bytes in messages that are so short that even a slow client takes each in time. If the bytes end within a character, the
   * message with its last byte has the character. @param isLast whether these are the last bytes of the stream.
   */
  async #data(stream: Stream, bytes: Buffer, isLast = false): Promise<void> {
    for (let at = 0; at < bytes.length || (isLast && at === 0); at += SLICE) {
      const isRest = isLast && at + SLICE >= bytes.length;
      const data = this.#streams[stream].decode(bytes.subarray(at, at + SLICE), { stream: !isRest });
      if (data) await this.#send({ type: "data", stream, data });
    }
  }

  /** Sends the output that has not been sent yet, and the end of the last stage. @param isCompile whether that is the compile stage. */
  async end({ compile, run }: PistonResponse, isCompile: boolean): Promise<void> {
    if (isCompile && compile) await this.compiling();
    else await this.#run();
    const stage = isCompile && compile ? compile : run;
    for (const stream of ["stdout", "stderr"] as const) await this.#rest(stream, stage[stream]);
    if (run.status === "XX") await this.#send({ type: "error", message: run.message });
    await this.#exit(stage);
  }

  async #rest(stream: Stream, { bytes }: LongText): Promise<void> {
    await this.#data(stream, bytes.subarray(this.#sent[stream]), true);
  }

  async #run(): Promise<void> {
    if (this.#stage === "run") return;
    await this.compiling();
    if (this.#stage === "compile") await this.#exit({ code: 0, signal: null });
    await this.#enter("run");
  }

  async #enter(stage: "compile" | "run"): Promise<void> {
    this.#stage = stage;
    await this.#send({ type: "stage", stage });
  }

  async #exit({ code, signal }: { readonly code: number | null; readonly signal: string | null }): Promise<void> {
    await this.#send({ type: "exit", stage: this.#stage, code, signal });
  }
}
