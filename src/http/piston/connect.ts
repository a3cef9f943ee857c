import { constants } from "node:os";
import { TextDecoder } from "node:util";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { z } from "zod";
import { ClientError, clientError } from "../../domain/error.ts";
import type { LongText } from "../../domain/json-pieces.ts";
import type { Language } from "../../domain/language.ts";
import { isTerminal } from "../../domain/submission.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../store/history/live-input.ts";
import type { LiveMark, LivePiece } from "../../store/history/types.ts";
import { accept } from "../accept.ts";
import { callerOf } from "../caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../gone.ts";
import type { LongAnswers } from "../long-answers.ts";
import { ownerOf } from "../owner.ts";
import { toSubmitRequest } from "../request.ts";
import { LOOK_BYTES, quiet, Watching } from "../run-events.ts";
import { acceptWebSocket } from "../upgrade.ts";
import { pistonAnswer } from "./answer.ts";
import { PISTON, pistonError } from "./form.ts";
import { readProgram } from "./request.ts";
import type { Runtime } from "./runtimes.ts";

/** Programs that an account can talk with at once. */
const MAX_SESSIONS = 8;
/** From the connection to the program. */
const INIT_MS = 10_000;
/** A client that takes no output for this long, or no longer answers, is disconnected. */
const STILL_MS = 30_000;
/** Notifications of output can be lost. */
const LOOK_MS = 1_000;

/** Codes with which Piston closes a connection, with its reasons. */
const CLOSED = {
  initialized: [4000, "Already Initialized"],
  initTimeout: [4001, "Initialization Timeout"],
  notified: [4002, "Notified Error"],
  notInitialized: [4003, "Not yet initialized"],
  stdinOnly: [4004, "Can only write to stdin"],
  invalidSignal: [4005, "Invalid signal"],
  done: [4999, "Job Completed"],
  stopping: [1001, "the service stops"],
} as const;

/** Signals that a client can send; not those of the kernel for a limit. */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGTERM"] as const;

const message = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("init") }),
  z.object({ type: z.literal("data"), stream: z.string(), data: z.string() }),
  z.object({ type: z.literal("signal"), signal: z.string() }),
]);

/** GET /piston/api/v2/connect: a WebSocket on which a client talks with a program while it runs. */
export function connectRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const watching = new Watching(MAX_SESSIONS);
  server.get(`${PISTON}/connect`, { config: { submits: true } }, async (request, reply) => {
    watching.enter(callerOf(request).accountId, reply);
    const socket = await acceptWebSocket(request, reply);
    new Session(socket, request, reply, dependencies, answers, stopping).begin();
    return reply;
  });
}

class Session {
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
  /** Of the submission. */
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
    stopping.addEventListener("abort", () => this.#close("stopping"), { once: true, signal: disconnected(reply) });
  }

  begin(): void {
    const socket = this.#socket;
    socket.on("message", (data, isBinary) => {
      // One message at a time, so that a client that sends faster than the database stores has to wait.
      socket.pause();
      void this.#take(isBinary ? "" : data.toString())
        .catch((error) => this.#fail(error))
        .finally(() => socket.resume());
    });
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // Also for a message that is too large or not UTF-8: the library closes the connection.
    socket.on("error", () => socket.terminate());
    socket.once("close", () => this.#leave());
  }

  async #take(text: string): Promise<void> {
    const given = message.safeParse(parse(text)).data;
    if (!given) throw clientError("pistonRequest", ["a message must be JSON of the type init, data or signal"]);
    if (given.type === "init") {
      if (this.#begun) return this.#close("initialized");
      this.#begun = true;
      clearTimeout(this.#initTimer);
      return await this.#start(given);
    }
    if (!this.#id) return this.#close("notInitialized");
    if (given.type === "signal") {
      const name = SIGNALS.find((one) => one === given.signal);
      if (!name) return this.#close("invalidSignal");
      return await this.#give(this.#id, [{ kind: "signal", signal: constants.signals[name] }]);
    }
    if (given.stream !== "stdin") return this.#close("stdinOnly");
    await this.#give(this.#id, [{ kind: "bytes", bytes: Buffer.from(given.data) }]);
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
    const given = await this.#dependencies.store.liveInput.give(id, accountId, inputs);
    if (given === "full")
      throw clientError("pistonRequest", [
        `a program gets at most ${MAX_LIVE_INPUT.bytes} bytes of input, in ${MAX_LIVE_INPUT.pieces} messages`,
      ]);
    // After the end of the run, input has no effect, as with a pipe that is closed.
  }

  /** Sends output and stages until the end. */
  async #watch(id: string, language: Language, runtime: Runtime): Promise<void> {
    const { store } = this.#dependencies;
    const { accountId } = callerOf(this.#request);
    const owner = ownerOf(this.#request);
    const stages = new Stages(language, (value) => this.#send(value));
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const unsubscribe = store.live.onChange(id, wake);
    this.#over.addEventListener("abort", wake);
    try {
      for (let seen: LiveMark | null = null; !this.#over.aborted; ) {
        woken = Promise.withResolvers(); // armed before the look, so that no change is missed
        const release = await this.#answers.room.take(owner, LOOK_BYTES, this.#over);
        if (!release) return;
        const look = await store.live.look(id, seen);
        for (const piece of look?.pieces ?? []) {
          if (seen && piece.fence !== seen.fence)
            throw clientError("pistonRequest", ["the platform failed and ran the program again"]);
          seen = { fence: piece.fence, n: piece.n };
          await stages.output(piece);
        }
        release();
        if (!look || isTerminal(look.status)) break;
        if (look.status === "running") await stages.compiling();
        if (look.pieces.length === 0) await quiet(woken.promise, LOOK_MS);
      }
    } finally {
      unsubscribe();
      this.#over.removeEventListener("abort", wake);
    }
    const admit = this.#answers.admitFor(owner, this.#request, this.#reply);
    const ended = await store.submissions.get(id, accountId, admit);
    if (this.#over.aborted || !ended?.outcome) return;
    this.#id = undefined;
    await stages.end(pistonAnswer(ended, language, runtime), ended.outcome.judgement.cause.startsWith("compile_"));
    this.#close("done");
  }

  /** Resolves when the client takes it. */
  #send(value: object): Promise<void> {
    if (this.#over.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#socket.terminate(), STILL_MS);
      this.#socket.send(JSON.stringify(value), () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#over.aborted) return;
    if (!(error instanceof ClientError)) this.#request.log.error({ err: error }, "a session failed");
    const known = error instanceof ClientError ? error : clientError("internal", []);
    await this.#send({ type: "error", ...pistonError(known) });
    this.#close("notified");
  }

  #close(why: keyof typeof CLOSED): void {
    const [code, reason] = CLOSED[why];
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), INIT_MS).unref();
  }

  #checkAlive(): void {
    if (this.#isAlive) this.#socket.ping();
    else this.#socket.terminate();
    this.#isAlive = false;
  }

  /** Nobody reads the output of a program whose client has gone. */
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

type Stream = LivePiece["stream"];
type Answer = ReturnType<typeof pistonAnswer>;

/** The messages about a run in their order: stages, each with its output and end. */
class Stages {
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
    const data = this.#streams[stream].decode(bytes, { stream: true });
    if (data) await this.#send({ type: "data", stream, data });
  }

  /** The rest of the output, and the end. */
  async end({ compile, run }: Answer, isCompile: boolean): Promise<void> {
    if (isCompile && compile) await this.compiling();
    else await this.#run();
    const stage = isCompile && compile ? compile : run;
    for (const stream of ["stdout", "stderr"] as const) await this.#rest(stream, stage[stream]);
    if (run.status === "XX") await this.#send({ type: "error", message: run.message });
    await this.#exit(stage);
  }

  async #rest(stream: Stream, { bytes }: LongText): Promise<void> {
    const data = this.#streams[stream].decode(bytes.subarray(this.#sent[stream]));
    if (data) await this.#send({ type: "data", stream, data });
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
