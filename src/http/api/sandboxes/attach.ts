import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { z } from "zod";
import { ClientError, clientError } from "../../../domain/error.ts";
import { jsonPieces } from "../../../domain/json-pieces.ts";
import type { Execution } from "../../../domain/sandboxes/execution.ts";
import { SandboxRefused } from "../../../domain/sandboxes/sandbox.ts";
import { toLongExecutionRecord } from "../../../domain/sandboxes/sandbox-record.ts";
import { StoreUnavailable } from "../../../store/database/errors.ts";
import { isStillValid } from "../../access/auth.ts";
import { parseJson } from "../../body/json-body.ts";
import { checkShape } from "../../body/json-shape.ts";
import { MessageSocket, type SocketMessage } from "../../listener/message-socket.ts";
import { acceptWebSocket } from "../../listener/upgrade.ts";
import { named } from "../../named-schemas.ts";
import { route, type Services } from "../../route.ts";
import { EXECUTION_NUMBER, SANDBOX_ID } from "../parameters.ts";
import { executionBody, signalBody, terminalBody } from "./bodies.ts";
import { checking, type Followed, type Position, recordBytes } from "./execution-events.ts";
import { followedExecution, OFFSETS } from "./executions.ts";
import { toClientError } from "./refused.ts";
import { checked } from "./requests.ts";

/** The first byte of a binary message of the service: the stream of the bytes that follow. */
const STREAM_BYTE = { stdout: 1, stderr: 2 } as const;
/** The most bytes of output in a message. */
const SLICE = 65_536;
/** A person can type for days. Each message is handled in a turn of its own, and the listener limits what many small messages cost. */
const MOST_MESSAGES = Number.POSITIVE_INFINITY;
/** The codes with which a WebSocket is closed (RFC 6455, and its registry at IANA). */
const CLOSED = { ended: 1000, refused: 1008, failed: 1011, tryAgain: 1013 } as const;

/** A message of a client. Input is a binary message. */
const controlMessage = named(
  "AttachedControl",
  z.union([
    named("AttachedEnd", z.strictObject({ type: z.literal("end") })),
    named("AttachedKill", z.strictObject({ type: z.literal("kill") })),
    named("AttachedSignal", z.strictObject({ type: z.literal("signal"), ...signalBody.shape })),
    named("AttachedResize", z.strictObject({ type: z.literal("resize"), ...terminalBody.shape })),
  ]),
);

const startMessage = named(
  "AttachedStart",
  z.strictObject({ type: z.literal("start"), number: z.int().min(1), stdout: z.int().min(0), stderr: z.int().min(0) }),
);
const skippedMessage = named(
  "AttachedSkipped",
  z
    .strictObject({ type: z.literal("skipped"), stream: z.enum(["stdout", "stderr"]), at: z.int().min(0) })
    .describe("The next bytes of the stream are at this position, because those before were not kept"),
);
const endedMessage = named("AttachedEnded", z.strictObject({ type: z.literal("ended"), execution: executionBody }));
const errorMessage = named(
  "AttachedError",
  z.strictObject({ type: z.literal("error"), error: z.string(), message: z.string().optional() }),
);

export const attachExecution = route({
  id: "attachExecution",
  method: "get",
  path: "/api/sandboxes/{id}/executions/{number}/attach",
  summary: "Attach to an execution",
  description:
    "Opens a WebSocket to an execution. One that has ended sends its output and its end. A binary message of the client is input. A text is JSON of the type `end` (of the input), `signal`, `resize` " +
    "or `kill`. A binary message of the service is output: its first byte is 1 for stdout and 2 for stderr, and the output of a terminal is stdout. A text is " +
    "JSON: `start` with the positions of the output, `skipped`, `ended` with the execution, and `error`. Several clients can be attached. The execution goes " +
    "on when a client disconnects.",
  parameters: { path: { id: SANDBOX_ID, number: EXECUTION_NUMBER }, query: OFFSETS },
  successes: {
    101: {
      description: "The connection becomes a WebSocket, on which the service sends these messages, and output",
      body: [startMessage, skippedMessage, endedMessage, errorMessage],
    },
  },
  errors: [
    "profileForbidden",
    "sandboxesOff",
    "sandboxElsewhere",
    "sandboxUnreachable",
    "upgradeRequired",
    "foreignOrigin",
    "tooManyWatched",
    "noRoom",
  ],
  config: { ofSandbox: true },
  handler: (services) => async (call) => {
    const { request, reply, query } = call;
    const followed = await followedExecution(call, services);
    const { keys } = services.dependencies.store;
    await attach(request, reply, services, {
      followed,
      from: query,
      isAllowed: () => isStillValid(request, keys),
      endOf: async (execution) => ({ type: "ended", execution: toLongExecutionRecord(execution) }),
    });
    return reply;
  },
});

export interface Attachment {
  readonly followed: Followed;
  /** The position from which on the client gets the output. */
  readonly from: Position;
  /** Whether the client still has access; it can also throw the ClientError that the client gets. */
  readonly isAllowed: () => Promise<boolean>;
  /** The last message. */
  readonly endOf: (execution: Execution) => Promise<object>;
}

/** Accepts the WebSocket that a request asks for, and attaches it to an execution. @throws ClientError, see acceptWebSocket(). */
export async function attach(
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
  attachment: Attachment,
): Promise<void> {
  services.sockets.open(request, reply);
  const socket = await acceptWebSocket(request, reply);
  if (socket) new AttachedSocket(socket, request, reply, services, attachment).begin();
}

/** A client that is attached to an execution. */
class AttachedSocket {
  readonly #socket: MessageSocket;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #services: Services;
  readonly #attachment: Attachment;

  constructor(
    socket: WebSocket,
    request: FastifyRequest,
    reply: FastifyReply,
    services: Services,
    attachment: Attachment,
  ) {
    const { answers, stopping } = services;
    const { isAllowed } = attachment;
    this.#socket = new MessageSocket(socket, request, reply, isAllowed, answers, stopping, MOST_MESSAGES);
    this.#request = request;
    this.#reply = reply;
    this.#services = services;
    this.#attachment = attachment;
  }

  begin(): void {
    const fail = (error: unknown) => this.#fail(error);
    this.#socket.begin({ take: (messages) => this.#take(messages), fail, left: () => {} });
    void this.#follow().catch(fail);
  }

  async #take(messages: readonly SocketMessage[]): Promise<void> {
    for (const message of messages) {
      await this.#services.answers.eventLoop.turn(this.#socket.owner);
      if (this.#socket.isClosed) return;
      await this.#socket.checkAllowed();
      try {
        await this.#act(message);
      } catch (error) {
        // A client can send a message before it knows of the end.
        if (!SandboxRefused.is(error, "executionEnded")) throw error;
      }
    }
  }

  async #act({ bytes, isBinary }: SocketMessage): Promise<void> {
    const { running } = this.#attachment.followed;
    if (!running) throw new SandboxRefused("executionEnded");
    // A copy, because the message can be a part of a larger buffer.
    if (isBinary) return bytes.length === 0 ? undefined : await running.input(Buffer.from(bytes));
    const control = checked(controlMessage, parseJson(bytes, checkShape(bytes)));
    if (control.type === "signal") await running.signal(control.signal);
    else if (control.type === "resize") await running.resize(control.rows, control.cols);
    else if (control.type === "end") await running.endInput();
    else await running.kill();
  }

  async #follow(): Promise<void> {
    const { over } = this.#socket;
    const { answers } = this.#services;
    const { followed, from, isAllowed, endOf } = this.#attachment;
    const at = { stdout: from.stdout, stderr: from.stderr };
    await this.#send({ type: "start", number: followed.execution.number, ...at });
    for await (const event of checking(followed.follow(from, over), isAllowed, over)) {
      if (event === null) continue; // the pings of the socket show that both sides are alive
      if (event.type === "output") {
        const { stream, bytes } = event;
        if (event.at !== at[stream]) await this.#send({ type: "skipped", stream, at: event.at });
        at[stream] = event.at + bytes.length;
        for (let offset = 0; offset < bytes.length; offset += SLICE) {
          const slice = bytes.subarray(offset, offset + SLICE);
          const message = Buffer.concat([Buffer.of(STREAM_BYTE[stream]), slice]);
          await this.#socket.inTime(() => this.#socket.sendPieces([message]));
        }
        continue;
      }
      // That of an execution of the store was reserved before it was read.
      if (followed.running)
        await answers.admitFor(this.#socket.owner, this.#request, this.#reply)(recordBytes(event.execution));
      const ended = await endOf(event.execution);
      const most = 6 * Math.max(recordBytes(event.execution), 1_048_576);
      await this.#socket.inTime(() => this.#socket.sendPieces(jsonPieces(ended)), most);
      this.#socket.close(CLOSED.ended, "the execution has ended");
      return;
    }
  }

  async #send(message: object): Promise<void> {
    await this.#socket.inTime(() => this.#socket.send(message));
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#socket.over.aborted || this.#socket.isClosed) return;
    const { log } = this.#request;
    const given = toClientError(error);
    let known: ClientError;
    if (given instanceof ClientError) known = given;
    else if (given instanceof StoreUnavailable) {
      log.warn({ err: given }, "database unavailable");
      known = clientError("databaseUnavailable", []);
    } else {
      log.error({ err: given }, "a WebSocket failed");
      known = clientError("internal", []);
    }
    const { error: text, message } = known.body;
    await this.#socket.send({ type: "error", error: text, ...(message !== undefined && { message }) });
    const code = known.status === 503 ? CLOSED.tryAgain : known.status >= 500 ? CLOSED.failed : CLOSED.refused;
    this.#socket.close(code, known.code);
  }
}
