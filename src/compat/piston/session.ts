import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { type Conversation, follow, giveAsManyAsFit } from "../../conversation/conversation.ts";
import { ClientError, clientError } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import { isTerminal } from "../../domain/submission.ts";
import { isStillValid } from "../../http/access/auth.ts";
import { callerOf } from "../../http/access/caller.ts";
import { accept } from "../../http/api/accept.ts";
import { signalNumber } from "../../http/api/live-input.ts";
import { toSubmitRequest } from "../../http/api/submit-request.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { MessageSocket, type SocketMessage } from "../../http/listener/message-socket.ts";
import { type LongAnswers, noRoom } from "../../http/responses/long-answers.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../store/live/input.ts";
import { pistonAnswer } from "./answer.ts";
import { MOST_WAITS, pistonError } from "./conventions.ts";
import { CLOSED, readMessage } from "./message.ts";
import { readProgram } from "./request.ts";
import type { Runtime } from "./runtimes.ts";
import { Stages } from "./stages.ts";

/** The client must send its program within this time. */
const INIT_MS = 10_000;
/** The state of the run is read again after this time even without a notification, because notifications can be lost. */
const REREAD_MS = 1_000;

/** The connection of a client of Piston that sends input to a program and gets its output while it runs. */
export class PistonSession {
  readonly #socket: MessageSocket;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #dependencies: Dependencies;
  readonly #answers: LongAnswers;
  readonly #initTimer: NodeJS.Timeout;
  #begun = false;
  #conversation: Conversation | undefined;
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
    const isAllowed = () => isStillValid(request, dependencies.store.keys);
    this.#socket = new MessageSocket(socket, request, reply, isAllowed, answers, stopping);
    this.#request = request;
    this.#reply = reply;
    this.#dependencies = dependencies;
    this.#answers = answers;
    this.#initTimer = setTimeout(() => this.#close("initTimeout"), INIT_MS);
  }

  begin(): void {
    this.#socket.begin({
      take: (messages) => this.#takeAll(messages),
      fail: (error) => this.#fail(error),
      left: () => this.#leave(),
    });
  }

  async #takeAll(messages: readonly SocketMessage[]): Promise<void> {
    const inputs: LiveInput[] = [];
    try {
      for (const message of messages) {
        await this.#answers.eventLoop.turn(this.#socket.owner);
        if (this.#socket.isClosed) break;
        const input = await this.#take(message);
        if (input) inputs.push(input);
      }
    } finally {
      // The program gets everything that the client has sent before a message that is refused.
      if (inputs.length > 0) await this.#give(inputs);
    }
  }

  /** Handles one message. @returns the input for the program that the message has; undefined if it has none. */
  async #take({ bytes, isBinary }: SocketMessage): Promise<LiveInput | undefined> {
    const given = readMessage(isBinary ? Buffer.alloc(0) : bytes);
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
    // The input is no `stdin` of the submission: a worker of release 0.1.0, which may run it during an upgrade, would not pass that on.
    const valid = toSubmitRequest(fields, caller, this.#dependencies);
    const { submission } = await accept(valid, caller, this.#dependencies, { live: true, takesInput: true });
    this.#id = submission.id;
    if (this.#socket.over.aborted) return this.#leave();
    const conversation = this.#dependencies.conversations.of(submission.id, submission.accountId);
    this.#conversation = conversation;
    if (stdin) await this.#give([{ kind: "bytes", bytes: Buffer.from(stdin) }]);
    await this.#socket.send({
      type: "runtime",
      language: runtime.language,
      version: runtime.version,
      assay_id: submission.id,
    });
    void this.#watch(submission.id, conversation, language, runtime).catch((error) => this.#fail(error));
  }

  async #give(inputs: readonly LiveInput[]): Promise<void> {
    await this.#socket.checkAllowed();
    const given = this.#conversation && (await giveAsManyAsFit(this.#conversation, inputs));
    if (given === "full")
      throw clientError("foreignRequest", [
        `a program gets at most ${MAX_LIVE_INPUT.bytes} bytes of input, in ${MAX_LIVE_INPUT.pieces} messages`,
      ]);
    if (given === "noRoom") throw noRoom(this.#request);
    // After the end of the run, input has no effect, and is not an error.
  }

  /** Sends the stages and the output of the run until its end. */
  async #watch(id: string, conversation: Conversation, language: Language, runtime: Runtime): Promise<void> {
    const { store, holdMs } = this.#dependencies;
    const { accountId } = callerOf(this.#request);
    const { over, owner } = this.#socket;
    const latestStart = performance.now() + MOST_WAITS * holdMs;
    const stages = new Stages(language, (value) => this.#socket.send(value));
    const take = (bytes: number) => this.#answers.budget.takeInTime(owner, bytes, over);
    let fence: number | null = null;
    for await (const { status, pieces, isWithheld } of follow(conversation, { take, over, everyMs: REREAD_MS })) {
      await this.#socket.checkAllowed();
      if (isWithheld) throw noRoom(this.#request);
      await this.#socket.inTime(async () => {
        for (const piece of pieces) {
          if (fence !== null && piece.fence !== fence)
            throw clientError("foreignRequest", ["the platform failed and ran the program again"]);
          fence = piece.fence;
          await stages.output(piece);
        }
      });
      if (status === "running") await stages.compiling();
      else if (!isTerminal(status) && performance.now() > latestStart)
        throw clientError("foreignRequest", [`the program did not start within ${(MOST_WAITS * holdMs) / 1000} s`]);
    }
    if (over.aborted) return;
    const admit = this.#answers.admitFor(owner, this.#request, this.#reply);
    const ended = await store.submissions.get(id, accountId, admit);
    if (over.aborted) return;
    if (!ended?.outcome) throw clientError("notFound", []); // its records were erased
    const { cause } = ended.outcome.result;
    this.#id = undefined;
    await this.#socket.inTime(() => stages.end(pistonAnswer(ended, language, runtime), cause.startsWith("compile_")));
    this.#close("done");
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#socket.over.aborted) return;
    const isDatabase = error instanceof StoreUnavailable;
    if (isDatabase) this.#request.log.warn({ err: error }, "database unavailable");
    else if (!(error instanceof ClientError)) this.#request.log.error({ err: error }, "a session failed");
    const known =
      error instanceof ClientError ? error : clientError(isDatabase ? "databaseUnavailable" : "internal", []);
    await this.#socket.send({ type: "error", ...pistonError(known) });
    this.#close("notified");
  }

  #close(why: keyof typeof CLOSED): undefined {
    const [code, reason] = CLOSED[why];
    return this.#socket.close(code, reason);
  }

  /** Cancels the run, because the client can no longer read its output. */
  #leave(): void {
    clearTimeout(this.#initTimer);
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
