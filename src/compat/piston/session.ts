import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { ClientError, clientError } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import { isTerminal } from "../../domain/submission.ts";
import { isStillValid } from "../../http/access/auth.ts";
import { callerOf, ownerOf } from "../../http/access/caller.ts";
import { accept } from "../../http/api/accept.ts";
import { changeOrTimeout } from "../../http/api/sse-output.ts";
import { toSubmitRequest } from "../../http/api/submit-request.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { admitMessage } from "../../http/listener/burst-guard.ts";
import { disconnected } from "../../http/responses/client-disconnect.ts";
import { linger } from "../../http/responses/linger.ts";
import { type LongAnswers, noRoom } from "../../http/responses/long-answers.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../store/live/input.ts";
import type { LiveMark } from "../../store/live/types.ts";
import { pistonAnswer } from "./answer.ts";
import { MOST_WAITS, pistonError } from "./conventions.ts";
import { CLOSED, readMessage, signalNumber } from "./message.ts";
import { readProgram } from "./request.ts";
import type { Runtime } from "./runtimes.ts";
import { Stages } from "./stages.ts";

/** The client must send its program within this time. */
const INIT_MS = 10_000;
/** A client is disconnected if it takes no output for this time, or does not respond to a ping within it. */
const STILL_MS = 30_000;
/** Inputs that arrive within this time are stored together, so that small messages cost the database little. */
const GATHER_MS = 5;
/** Output is read again after this time even without a notification, because notifications can be lost. */
const REREAD_MS = 1_000;
/** Interval of the checks whether the key is still valid and its account is not suspended. */
const CHECK_MS = 1_000;
/** The most bytes of output that one read returns: as many as a run can write. */
const MOST_READ_BYTES = 2 * 1_048_576;
/** The client must confirm within this time that the connection is closed. */
const CLOSE_MS = 2_000;

/** The most messages of a client: its program, its input and some signals. Messages without input count as well, because each is parsed. */
const MAX_MESSAGES = MAX_LIVE_INPUT.pieces + 100;
/** The most messages that a client may send after the session is over, because it may not know of the end yet. */
const MAX_LATE_MESSAGES = 256;

/** The connection of a client that sends input to a program and gets its output while it runs. */
export class Session {
  readonly #socket: WebSocket;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #dependencies: Dependencies;
  readonly #answers: LongAnswers;
  readonly #over: AbortSignal;
  readonly #initTimer: NodeJS.Timeout;
  readonly #aliveTimer: NodeJS.Timeout;
  #isAlive = true;
  #begun = false;
  readonly #messages: Buffer[] = [];
  #received = 0;
  #receivedLate = 0;
  #isTaking = false;
  #isOver = false;
  #checkedAtMs = performance.now();
  /** The id of the submission; undefined before it is stored, and after the run has ended or the client has left. */
  #id: string | undefined;

  constructor(
    socket: WebSocket,
    request: FastifyRequest,
    reply: FastifyReply,
    dependencies: Dependencies,
    answers: LongAnswers,
    stopping: AbortSignal,
  ) {
    this.#socket = socket;
    this.#request = request;
    this.#reply = reply;
    this.#dependencies = dependencies;
    this.#answers = answers;
    this.#over = AbortSignal.any([disconnected(reply), stopping]);
    this.#initTimer = setTimeout(() => this.#close("initTimeout"), INIT_MS);
    this.#aliveTimer = setInterval(() => this.#checkAlive(), STILL_MS);
    const stop = () => this.#close("stopping");
    if (stopping.aborted) stop();
    else stopping.addEventListener("abort", stop, { once: true, signal: disconnected(reply) });
  }

  begin(): void {
    const socket = this.#socket;
    admitMessage(this.#request.raw.socket); // allows for messages that have arrived already
    socket.on("message", (data, isBinary) => {
      if (++this.#received > MAX_MESSAGES) return socket.terminate();
      admitMessage(this.#request.raw.socket);
      if (this.#isOver) {
        if (++this.#receivedLate > MAX_LATE_MESSAGES) socket.terminate();
        return;
      }
      this.#messages.push(isBinary ? Buffer.alloc(0) : (data as Buffer));
      // A client that sends faster than the database stores its input has to wait. Messages that have already arrived still come.
      socket.pause();
      if (!this.#isTaking) void this.#takeAll();
    });
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // A message that is too large or not UTF-8. `ws` itself sends the close frame, and reads no further message. If the connection ended at
    // once, the rest of the message would reset it, and the client could lose that frame.
    socket.on("error", () => {
      this.#isOver = true;
      linger(
        this.#request.raw.socket,
        () => false,
        () => socket.terminate(),
      );
    });
    socket.once("close", () => this.#leave());
  }

  /** Handles the messages in their order, until none is left. */
  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    try {
      while (this.#messages.length > 0) {
        const inputs: LiveInput[] = [];
        for (const bytes of this.#messages.splice(0)) {
          await this.#answers.eventLoop.turn(ownerOf(this.#request));
          if (this.#isOver) return;
          const input = await this.#take(bytes);
          if (input) inputs.push(input);
        }
        if (inputs.length > 0 && this.#id) await this.#give(this.#id, inputs);
        await sleep(GATHER_MS);
      }
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#isTaking = false;
      this.#socket.resume();
    }
  }

  /** Handles one message. @returns the input for the program that the message has; undefined if it has none. */
  async #take(bytes: Buffer): Promise<LiveInput | undefined> {
    const given = readMessage(bytes);
    if (given.type === "init") {
      if (this.#begun) return this.#close("initialized");
      this.#begun = true;
      clearTimeout(this.#initTimer);
      await this.#start(given);
      return undefined;
    }
    if (!this.#begun) return this.#close("notInitialized");
    if (given.type === "signal") {
      const signal = signalNumber(given.signal);
      return signal ? { kind: "signal", signal } : this.#close("invalidSignal");
    }
    if (given.stream !== "stdin") return this.#close("stdinOnly");
    return given.data === "" ? undefined : { kind: "bytes", bytes: Buffer.from(given.data) };
  }

  async #start(init: object): Promise<void> {
    const caller = callerOf(this.#request);
    const { runtime, language, fields } = readProgram(init, caller, this.#dependencies);
    const { stdin } = init as { readonly stdin?: string };
    const valid = toSubmitRequest({ ...fields, stdin: "" }, caller, this.#dependencies);
    const { submission } = await accept(valid, caller, this.#dependencies, { live: true, takesInput: true });
    this.#id = submission.id;
    if (this.#over.aborted) return this.#leave();
    if (stdin) await this.#give(submission.id, [{ kind: "bytes", bytes: Buffer.from(stdin) }]);
    await this.#send({
      type: "runtime",
      language: runtime.language,
      version: runtime.version,
      assay_id: submission.id,
    });
    void this.#watch(submission.id, language, runtime).catch((error) => this.#fail(error));
  }

  async #give(id: string, inputs: readonly LiveInput[]): Promise<void> {
    const { accountId } = callerOf(this.#request);
    await this.#checkKey();
    const given = await this.#dependencies.store.liveInput.give(id, accountId, inputs);
    if (given === "full")
      throw clientError("foreignRequest", [
        `a program gets at most ${MAX_LIVE_INPUT.bytes} bytes of input, in ${MAX_LIVE_INPUT.pieces} messages`,
      ]);
    // After the end of the run, input has no effect, and is not an error.
  }

  /** Checks the key, at most once in CHECK_MS. @throws ClientError unauthorized if it is no longer valid. */
  async #checkKey(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < CHECK_MS) return;
    this.#checkedAtMs = nowMs;
    if (!(await isStillValid(this.#request, this.#dependencies.store.keys))) throw clientError("unauthorized", []);
  }

  /** Sends the stages and the output of the run until its end. */
  async #watch(id: string, language: Language, runtime: Runtime): Promise<void> {
    const { store, holdMs } = this.#dependencies;
    const { accountId } = callerOf(this.#request);
    const owner = ownerOf(this.#request);
    const latestStart = performance.now() + MOST_WAITS * holdMs;
    const stages = new Stages(language, (value) => this.#send(value));
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const unsubscribe = store.live.onChange(id, wake);
    let release: (() => void) | undefined;
    this.#over.addEventListener("abort", wake);
    try {
      for (let seen: LiveMark | null = null; !this.#over.aborted; ) {
        await this.#checkKey();
        woken = Promise.withResolvers(); // armed before the read, so that no change is missed
        const output = await store.live.readAfter(id, seen, async (bytes) => {
          release = await this.#answers.budget.takeInTime(owner, bytes, this.#over);
          return release !== undefined;
        });
        if (output?.isWithheld) throw noRoom(this.#request);
        await this.#inTime(async () => {
          for (const piece of output?.pieces ?? []) {
            if (seen && piece.fence !== seen.fence)
              throw clientError("foreignRequest", ["the platform failed and ran the program again"]);
            seen = { fence: piece.fence, n: piece.n };
            await stages.output(piece);
          }
        });
        release?.();
        if (!output || isTerminal(output.status)) break;
        if (output.status === "running") await stages.compiling();
        else if (performance.now() > latestStart)
          throw clientError("foreignRequest", [`the program did not start within ${(MOST_WAITS * holdMs) / 1000} s`]);
        if (output.pieces.length === 0) await changeOrTimeout(woken.promise, REREAD_MS);
      }
    } finally {
      release?.(); // also after an error, because all accounts share the memory
      unsubscribe();
      this.#over.removeEventListener("abort", wake);
    }
    const admit = this.#answers.admitFor(owner, this.#request, this.#reply);
    const ended = await store.submissions.get(id, accountId, admit);
    if (this.#over.aborted) return;
    if (!ended?.outcome) throw clientError("notFound", []); // its records were erased
    const { cause } = ended.outcome.result;
    this.#id = undefined;
    await this.#inTime(() => stages.end(pistonAnswer(ended, language, runtime), cause.startsWith("compile_")));
    this.#close("done");
  }

  /** Sends output. A client that reads it too slowly is disconnected, because all accounts share the memory that holds the output. */
  async #inTime(send: () => Promise<void>): Promise<void> {
    const { windowMs, leastBytes } = this.#answers.drain;
    const timer = setTimeout(() => this.#socket.terminate(), (MOST_READ_BYTES * windowMs) / leastBytes);
    try {
      await send();
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Sends a message. It resolves when the message has been written, or when the connection has closed or the service stops, because
   * a closed socket may never call back.
   */
  async #send(value: object): Promise<void> {
    await this.#answers.eventLoop.turn(ownerOf(this.#request));
    if (this.#over.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#socket.terminate(), STILL_MS);
      const settle = () => {
        clearTimeout(timer);
        this.#over.removeEventListener("abort", settle);
        resolve();
      };
      this.#over.addEventListener("abort", settle);
      this.#socket.send(JSON.stringify(value), settle);
    });
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#over.aborted) return;
    const isDatabase = error instanceof StoreUnavailable;
    if (isDatabase) this.#request.log.warn({ err: error }, "database unavailable");
    else if (!(error instanceof ClientError)) this.#request.log.error({ err: error }, "a session failed");
    const known =
      error instanceof ClientError ? error : clientError(isDatabase ? "databaseUnavailable" : "internal", []);
    await this.#send({ type: "error", ...pistonError(known) });
    this.#close("notified");
  }

  #close(why: keyof typeof CLOSED): undefined {
    const [code, reason] = CLOSED[why];
    this.#isOver = true;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
  }

  #checkAlive(): void {
    if (this.#isAlive) this.#socket.ping();
    else this.#socket.terminate();
    this.#isAlive = false;
  }

  /** Cancels the run, because the client can no longer read its output. */
  #leave(): void {
    clearTimeout(this.#initTimer);
    clearInterval(this.#aliveTimer);
    const id = this.#id;
    this.#id = undefined;
    if (id === undefined) return;
    const { accountId } = callerOf(this.#request);
    this.#dependencies.store.submissions
      .cancel(id, accountId)
      .catch((error) =>
        this.#request.log.warn({ err: error, submission: id }, "a session's run could not be cancelled"),
      );
  }
}
