import { constants } from "node:os";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { z } from "zod";
import { giveAsManyAsFit } from "../../conversation/conversation.ts";
import { ClientError, clientError, type ErrorCode } from "../../domain/error.ts";
import { jsonPieces, longBytes } from "../../domain/json-pieces.ts";
import type { Submission } from "../../domain/submission.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../store/live/input.ts";
import { isStillValid } from "../access/auth.ts";
import { parseJson } from "../body/json-body.ts";
import { checkShape } from "../body/json-shape.ts";
import { MessageSocket, type SocketMessage } from "../listener/message-socket.ts";
import { acceptWebSocket } from "../listener/upgrade.ts";
import { named } from "../named-schemas.ts";
import { noRoom } from "../responses/long-answers.ts";
import { type Call, route, type Services } from "../route.ts";
import { status, submissionId } from "./fields.ts";
import { SUBMISSION_ID } from "./parameters.ts";
import { content, decodeContent, leastBytes } from "./program-options.ts";
import { record } from "./record-schema.ts";
import { watchedRun } from "./result.ts";
import { runEvents, type Watched } from "./run-events.ts";
import { invalidPart } from "./submit-request.ts";

/*
 * Input and signals for a program while it runs: by requests, or by the messages of a WebSocket, which also gets the output.
 */

/** Signals that a client can send. The signals by which the kernel reports an exceeded limit are not among them. */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGTERM"] as const;

/** The number of a signal. @returns undefined for a signal that clients cannot send. */
export function signalNumber(name: string): number | undefined {
  const known = SIGNALS.find((one) => one === name);
  return known && constants.signals[known];
}

const signalName = named("Signal", z.enum(SIGNALS));
const inputContent = content.describe('Bytes for the standard input of the program: text, or {"base64": …}');

const inputBody = named("LiveInput", z.strictObject({ input: inputContent }));
const signalBody = named("LiveSignal", z.strictObject({ signal: signalName }));
const inputAccepted = named("LiveInputAccepted", z.strictObject({ id: submissionId, status }));

/** The errors of giveTo(). */
const GIVE_ERRORS = [
  "invalidRequest",
  "takesNoInput",
  "runEnded",
  "inputFull",
  "noRoom",
] as const satisfies readonly ErrorCode[];

export const input = route({
  id: "input",
  method: "post",
  path: "/api/result/{id}/input",
  summary: "Send input to a running program",
  description:
    "Adds bytes to the standard input of the program, in the order of the requests. The submission must have `live_input`. The " +
    "program reads its `stdin` first. If it does not run yet, it gets the input when it starts. A repeated request adds the bytes again.",
  parameters: { path: { id: SUBMISSION_ID } },
  body: inputBody,
  successes: { 202: { description: "The program will get the input", body: inputAccepted } },
  errors: [...GIVE_ERRORS, "notUnicode"],
  handler: (services) => async (call) => {
    const { input: given } = checked(inputBody, call.request.body);
    return await giveTo(call, services, [{ kind: "bytes", bytes: toBytes(given) }]);
  },
});

export const endInput = route({
  id: "endInput",
  method: "post",
  path: "/api/result/{id}/input/end",
  summary: "End the input of a running program",
  description: "Closes the standard input of the program, which then reads its end. Later input has no effect.",
  parameters: { path: { id: SUBMISSION_ID } },
  successes: { 202: { description: "The program will get the end of its input", body: inputAccepted } },
  errors: GIVE_ERRORS,
  config: { bodyless: true },
  handler: (services) => async (call) => await giveTo(call, services, [{ kind: "end" }]),
});

export const signal = route({
  id: "signal",
  method: "post",
  path: "/api/result/{id}/signal",
  summary: "Send a signal to a running program",
  description:
    "Sends a signal to the process with which the program began, after the input so far. If the signal ends the program, the verdict is SIG. " +
    "The submission must have `live_input`.",
  parameters: { path: { id: SUBMISSION_ID } },
  body: signalBody,
  successes: { 202: { description: "The program will get the signal", body: inputAccepted } },
  errors: GIVE_ERRORS,
  handler: (services) => async (call) => {
    const { signal: name } = checked(signalBody, call.request.body);
    return await giveTo(call, services, [{ kind: "signal", signal: constants.signals[name] }]);
  },
});

/** @throws ClientError invalidRequest. */
function checked<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw invalidPart(parsed.error.issues[0]);
  return parsed.data;
}

/** @throws ClientError notUnicode, inputFull, or invalidRequest for a text that is not base64. */
function toBytes(given: z.output<typeof content>): Buffer {
  if (leastBytes(given) > MAX_LIVE_INPUT.bytes) throw inputFull();
  return decodeContent("input", given);
}

function inputFull(): ClientError {
  return clientError("inputFull", [MAX_LIVE_INPUT.bytes, MAX_LIVE_INPUT.pieces]);
}

/** An id of another account gets the same response as an unknown id. @throws ClientError submissionNotFound. */
async function find({ request, caller, path: { id } }: Call<{ readonly id: string }>, { dependencies }: Services) {
  const head = await dependencies.store.submissions.head(id, caller.accountId);
  if (!head) throw clientError("submissionNotFound", []);
  request.submissionId = head.submission.id;
  return head.submission;
}

/** Gives the input to the program of a submission. @throws ClientError, one of GIVE_ERRORS. */
async function giveTo(call: Call<{ readonly id: string }>, services: Services, inputs: readonly LiveInput[]) {
  const { id, accountId, status }: Submission = await find(call, services);
  // The body can have taken half a minute to arrive.
  if (!(await isStillValid(call.request, services.dependencies.store.keys))) throw clientError("unauthorized", []);
  const given = await services.dependencies.conversations.of(id, accountId).give(inputs);
  if (given === "takesNone") throw clientError("takesNoInput", []);
  if (given === "ended") throw clientError("runEnded", []);
  if (given === "full") throw inputFull();
  if (given === "noRoom") throw noRoom(call.request);
  call.reply.code(202);
  return { id, status };
}

/** A message of a client. Its input can also be a binary message. */
const clientMessage = named(
  "ClientMessage",
  z.union([
    named("InputMessage", z.strictObject({ type: z.literal("input"), input: inputContent })),
    named("EndMessage", z.strictObject({ type: z.literal("end") })),
    named("SignalMessage", z.strictObject({ type: z.literal("signal"), signal: signalName })),
  ]),
);

const statusMessage = named("StatusMessage", z.strictObject({ type: z.literal("status"), status }));
const outputMessage = named(
  "OutputMessage",
  z.strictObject({
    type: z.enum(["stdout", "stderr"]),
    at: z.int().min(0).describe("Position of the text in the stream, in bytes"),
    text: z.string(),
    id: z.string().nullable().describe("The value of `after` for a client that has all messages so far, or null"),
  }),
);
const endedMessage = named("EndedMessage", z.strictObject({ type: z.literal("ended"), record }));
const errorMessage = named(
  "ErrorMessage",
  z.strictObject({ type: z.literal("error"), error: z.string(), message: z.string().optional() }),
);

export const connect = route({
  id: "connect",
  method: "get",
  path: "/api/result/{id}/connect",
  summary: "Talk with a running program",
  description:
    "Opens a WebSocket, on which the service sends the events of the submission as messages of JSON: `status`, `stdout` and `stderr`, " +
    "`ended` with the final record, and `error`. A submission with `live_input` takes messages of the client: a binary message is " +
    "input, and a text is JSON of the type `input`, `end` or `signal`. Several clients can be connected to one submission. The run " +
    "continues if a client disconnects.",
  parameters: {
    path: { id: SUBMISSION_ID },
    query: {
      after: {
        description: "The last `id` that the client received; without it, the output begins at its start",
        schema: z
          .string()
          .regex(/^\d{1,15}-\d{1,15}$/, "is not the `id` of a message")
          .optional(),
      },
    },
  },
  successes: {
    101: {
      description: "The connection becomes a WebSocket, on which the service sends these messages",
      body: [statusMessage, outputMessage, endedMessage, errorMessage],
    },
  },
  errors: ["upgradeRequired", "foreignOrigin", "tooManyWatched", "noRoom"],
  config: { submits: true },
  handler: (services) => async (call) => {
    const { request, reply } = call;
    const { id } = await find(call, services);
    services.sockets.open(request, reply);
    const socket = await acceptWebSocket(request, reply);
    if (socket)
      new RunSocket(socket, request, reply, services, watchedRun(call, services, id, call.query.after)).begin();
    return reply;
  },
});

/** The codes with which a WebSocket is closed (RFC 6455, and its registry at IANA). */
const CLOSED = { ended: 1000, refused: 1008, failed: 1011, tryAgain: 1013 } as const;

/** A client that follows a run, and gives input to its program. */
class RunSocket {
  readonly #socket: MessageSocket;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #services: Services;
  readonly #watched: Watched;

  constructor(socket: WebSocket, request: FastifyRequest, reply: FastifyReply, services: Services, watched: Watched) {
    const { dependencies, answers, stopping } = services;
    const isAllowed = () => isStillValid(request, dependencies.store.keys);
    this.#socket = new MessageSocket(socket, request, reply, isAllowed, answers, stopping);
    this.#request = request;
    this.#reply = reply;
    this.#services = services;
    this.#watched = watched;
  }

  begin(): void {
    const fail = (error: unknown) => this.#fail(error);
    this.#socket.begin({ take: (messages) => this.#take(messages), fail, left: () => {} });
    void this.#follow().catch(fail);
  }

  async #take(messages: readonly SocketMessage[]): Promise<void> {
    const inputs: LiveInput[] = [];
    try {
      for (const message of messages) {
        await this.#services.answers.eventLoop.turn(this.#socket.owner);
        if (this.#socket.isClosed) break;
        inputs.push(...toInput(message));
      }
    } finally {
      // The program gets everything that the client has sent before a message that is refused.
      await this.#give(inputs);
    }
  }

  async #give(inputs: readonly LiveInput[]): Promise<void> {
    if (inputs.length === 0) return;
    await this.#socket.checkAllowed();
    const given = await giveAsManyAsFit(this.#watched.conversation, inputs);
    if (given === "takesNone") throw clientError("takesNoInput", []);
    if (given === "full") throw inputFull();
    if (given === "noRoom") throw noRoom(this.#request);
    // A client can send input before it knows of the end of the run. It has no effect, and the client gets the record.
  }

  async #follow(): Promise<void> {
    const { answers } = this.#services;
    for await (const event of runEvents(answers, this.#request, this.#reply, this.#watched, this.#socket.over)) {
      if (event.type === "alive") continue; // the pings of the socket show that both sides are alive
      if (event.type !== "ended") {
        await this.#socket.inTime(() => this.#socket.send(event));
        continue;
      }
      const bytes = Math.max(longBytes(event.record), 1_048_576);
      await this.#socket.inTime(() => this.#socket.sendPieces(jsonPieces(event)), 6 * bytes);
      this.#socket.close(CLOSED.ended, "the run has ended");
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#socket.over.aborted || this.#socket.isClosed) return;
    const { log } = this.#request;
    let known: ClientError;
    if (error instanceof ClientError) known = error;
    else if (error instanceof StoreUnavailable) {
      log.warn({ err: error }, "database unavailable");
      known = clientError("databaseUnavailable", []);
    } else {
      log.error({ err: error }, "a WebSocket failed");
      known = clientError("internal", []);
    }
    const { error: text, message } = known.body;
    await this.#socket.send({ type: "error", error: text, ...(message !== undefined && { message }) });
    const code = known.status === 503 ? CLOSED.tryAgain : known.status >= 500 ? CLOSED.failed : CLOSED.refused;
    this.#socket.close(code, known.code);
  }
}

/** The input in a message. Like the body of a request, hostile JSON is refused before it is parsed. @throws ClientError. */
function toInput({ bytes, isBinary }: SocketMessage): LiveInput[] {
  if (isBinary) {
    if (bytes.length > MAX_LIVE_INPUT.bytes) throw inputFull();
    // A copy, because the message can be a part of a larger buffer.
    return bytes.length === 0 ? [] : [{ kind: "bytes", bytes: Buffer.from(bytes) }];
  }
  const given = checked(clientMessage, parseJson(bytes, checkShape(bytes)));
  if (given.type === "end") return [{ kind: "end" }];
  if (given.type === "signal") return [{ kind: "signal", signal: constants.signals[given.signal] }];
  return [{ kind: "bytes", bytes: toBytes(given.input) }];
}
