import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { z } from "zod";
import { ClientError, clientError } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import { isTerminal } from "../../domain/submission.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../store/history/live-input.ts";
import type { LiveMark } from "../../store/history/types.ts";
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
import { Stages } from "./stages.ts";

/** Programs that an account can talk with at once. */
const MAX_SESSIONS = 8;
/** From the connection to the program. */
const INIT_MS = 10_000;
/** A client that takes no output for this long, or no longer answers, is disconnected. */
const STILL_MS = 30_000;
/** Input that comes within this time is stored at once, so that small messages cost the database little. */
const GATHER_MS = 5;
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
  readonly #messages: string[] = [];
  #isTaking = false;
  #isOver = false;
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
      if (this.#isOver) return;
      this.#messages.push(isBinary ? "" : data.toString());
      // A client that sends faster than the database stores has to wait. What has arrived by now still comes.
      socket.pause();
      if (!this.#isTaking) void this.#takeAll();
    });
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // Also for a message that is too large or not UTF-8: the library closes the connection.
    socket.on("error", () => socket.terminate());
    socket.once("close", () => this.#leave());
  }

  /** In their order, until none is left. */
  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    try {
      while (this.#messages.length > 0) {
        const inputs: LiveInput[] = [];
        for (const text of this.#messages.splice(0)) {
          if (this.#isOver) return;
          const input = await this.#take(text);
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

  /** @returns input for the program. */
  async #take(text: string): Promise<LiveInput | undefined> {
    const given = message.safeParse(parse(text)).data;
    if (!given) throw clientError("pistonRequest", ["a message must be JSON of the type init, data or signal"]);
    if (given.type === "init") {
      if (this.#begun) return this.#close("initialized");
      this.#begun = true;
      clearTimeout(this.#initTimer);
      await this.#start(given);
      return undefined;
    }
    if (!this.#begun) return this.#close("notInitialized");
    if (given.type === "signal") {
      const name = SIGNALS.find((one) => one === given.signal);
      return name ? { kind: "signal", signal: constants.signals[name] } : this.#close("invalidSignal");
    }
    return given.stream === "stdin" ? { kind: "bytes", bytes: Buffer.from(given.data) } : this.#close("stdinOnly");
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
    let release: (() => void) | undefined;
    this.#over.addEventListener("abort", wake);
    try {
      for (let seen: LiveMark | null = null; !this.#over.aborted; ) {
        woken = Promise.withResolvers(); // armed before the look, so that no change is missed
        release = await this.#answers.room.take(owner, LOOK_BYTES, this.#over);
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
      release?.(); // also after an error: the memory is shared by all accounts
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

  #close(why: keyof typeof CLOSED): undefined {
    const [code, reason] = CLOSED[why];
    this.#isOver = true;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), INIT_MS).unref();
  }

  #checkAlive(): void {
    if (this.#isAlive) this.#socket.ping();
    else this.#socket.terminate();
    this.#isAlive = false;
  }

  /** Cancels the program, whose output the client can no longer read. */
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
