import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { clientError } from "../../domain/error.ts";
import { Budget } from "../../fairness/budget.ts";
import { MAX_LIVE_INPUT } from "../../store/live/input.ts";
import { ownerOf } from "../access/caller.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { linger } from "../responses/linger.ts";
import { type LongAnswers, noRoom } from "../responses/long-answers.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { admitMessage } from "./burst-guard.ts";

/** The most WebSockets that an account, or a person who is signed in, can have open at once. */
const MAX_SOCKETS = 8;
/** The most WebSockets of all accounts together. They are bounded, because each keeps a message of up to 2 MiB. */
const MAX_ALL_SOCKETS = 128;
/** The most messages of a client: its program, its input and some signals. Messages without input count as well, because each is parsed. */
const MAX_MESSAGES = MAX_LIVE_INPUT.pieces + 100;
/** The most messages that a client may send after the service has closed the connection, because it may not know of that yet. */
const MAX_LATE_MESSAGES = 256;
/** A client is disconnected if it takes no message for this time, or does not respond to a ping within it. */
const STILL_MS = 30_000;
/** The most bytes of output that one read returns: as many as a run can write. */
const MOST_READ_BYTES = 2 * 1_048_576;
/** The client must confirm within this time that the connection is closed. */
const CLOSE_MS = 2_000;
/** Interval of the checks whether the client still has access. */
const CHECK_MS = 1_000;

/** The numbers of open WebSockets, which all routes with WebSockets share. */
export class WebSocketBudget {
  readonly #ofOwner = new StreamBudget(MAX_SOCKETS);
  readonly #ofAll = new Budget({ total: MAX_ALL_SOCKETS, perOwner: "shared" });

  /** Counts a WebSocket until it is closed. @throws ClientError tooManyWatched or noRoom. */
  open(request: FastifyRequest, reply: FastifyReply): void {
    this.#ofOwner.open(ownerOf(request), reply);
    const release = this.#ofAll.take(ownerOf(request), 1);
    if (!release) throw noRoom(request);
    disconnected(reply).addEventListener("abort", release, { once: true });
    if (disconnected(reply).aborted) release();
  }
}

/** A message as the client sent it. */
export interface SocketMessage {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

export interface MessageHandlers {
  /** Takes messages that have arrived, in order. It is called again when it has resolved, and the client has to wait meanwhile. */
  readonly take: (messages: readonly SocketMessage[]) => Promise<void>;
  /** Called if `take` rejects. */
  readonly fail: (error: unknown) => Promise<void>;
  /** Called once when the connection has closed. */
  readonly left: () => void;
}

/**
 * A WebSocket with a client. It bounds what the client can send, checks that the client is alive and still has access, and sends messages as
 * fast as the client reads them.
 */
export class MessageSocket {
  readonly request: FastifyRequest;
  /** Aborts when the connection has closed, or the service stops. */
  readonly over: AbortSignal;
  readonly #socket: WebSocket;
  readonly #reply: FastifyReply;
  readonly #answers: LongAnswers;
  readonly #isAllowed: () => Promise<boolean>;
  readonly #stopping: AbortSignal;
  readonly #mostMessages: number;
  readonly #messages: SocketMessage[] = [];
  #received = 0;
  #receivedLate = 0;
  #isTaking = false;
  #isClosed = false;
  #isAlive = true;
  #checkedAtMs = performance.now();
  #sending: Promise<void> = Promise.resolve();

  /** @param isAllowed whether the client still has access; it can also throw the ClientError that the client gets. */
  constructor(
    socket: WebSocket,
    request: FastifyRequest,
    reply: FastifyReply,
    isAllowed: () => Promise<boolean>,
    answers: LongAnswers,
    stopping: AbortSignal,
    mostMessages = MAX_MESSAGES,
  ) {
    this.request = request;
    this.over = AbortSignal.any([disconnected(reply), stopping]);
    this.#socket = socket;
    this.#reply = reply;
    this.#isAllowed = isAllowed;
    this.#answers = answers;
    this.#stopping = stopping;
    this.#mostMessages = mostMessages;
  }

  /** The owner to whom the connection is charged. */
  get owner(): string {
    return ownerOf(this.request);
  }

  /** Whether no further message of the client counts, because the service has closed the connection. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Begins to take messages. */
  begin({ take, fail, left }: MessageHandlers): void {
    const socket = this.#socket;
    const { socket: connection } = this.request.raw;
    const takeAll = async () => {
      this.#isTaking = true;
      try {
        while (this.#messages.length > 0 && !this.#isClosed) await take(this.#messages.splice(0));
      } catch (error) {
        await fail(error);
      } finally {
        this.#isTaking = false;
        socket.resume();
      }
    };
    admitMessage(connection); // allows for messages that have arrived already
    socket.on("message", (data, isBinary) => {
      if (++this.#received > this.#mostMessages) return socket.terminate();
      admitMessage(connection);
      if (this.#isClosed) {
        if (++this.#receivedLate > MAX_LATE_MESSAGES) socket.terminate();
        return;
      }
      this.#messages.push({ bytes: data as Buffer, isBinary });
      // A client that sends faster than its messages are taken has to wait. Messages that have already arrived still come.
      socket.pause();
      if (!this.#isTaking) void takeAll();
    });
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // A message that is too large or not UTF-8. `ws` itself sends the close frame, and reads no further message. If the connection ended at
    // once, the rest of the message would reset it, and the client could lose that frame.
    socket.on("error", () => {
      this.#isClosed = true;
      linger(
        connection,
        () => false,
        () => socket.terminate(),
      );
    });
    const alive = setInterval(() => this.#checkAlive(), STILL_MS);
    socket.once("close", () => {
      clearInterval(alive);
      left();
    });
    const stop = () => this.close(1001, "the service stops");
    if (this.#stopping.aborted) stop();
    else this.#stopping.addEventListener("abort", stop, { once: true, signal: disconnected(this.#reply) });
  }

  /** Checks, at most once in CHECK_MS, that the client still has access. @throws ClientError unauthorized, or the error of `isAllowed`. */
  async checkAllowed(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < CHECK_MS) return;
    this.#checkedAtMs = nowMs;
    if (!(await this.#isAllowed())) throw clientError("unauthorized", []);
  }

  /**
   * Sends output. A client that reads it too slowly is disconnected, because all accounts share the memory that holds the output.
   * @param bytes how much the client has to read at most.
   */
  async inTime(send: () => Promise<void>, bytes: number = MOST_READ_BYTES): Promise<void> {
    const { windowMs, leastBytes } = this.#answers.drain;
    const timer = setTimeout(() => this.#socket.terminate(), (bytes * windowMs) / leastBytes);
    try {
      await send();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a value as JSON, and resolves when it has been written, or nobody reads it any more. */
  send(value: object): Promise<void> {
    return this.sendPieces([JSON.stringify(value)]);
  }

  /** Sends one message in pieces, which the client gets as a whole. Pieces that are bytes make a binary message. */
  sendPieces(pieces: Iterable<string | Buffer>): Promise<void> {
    // One message after the other, because the pieces of a message must not have another message between them.
    this.#sending = this.#sending
      .catch(() => {})
      .then(async () => {
        let last: string | Buffer = "";
        let isFirst = true;
        for (const piece of pieces) {
          if (!isFirst) await this.#write(last, false);
          if (this.over.aborted) return;
          last = piece;
          isFirst = false;
        }
        await this.#write(last, true);
      });
    return this.#sending;
  }

  close(code: number, reason: string): undefined {
    this.#isClosed = true;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
  }

  /** @param fin whether the piece is the end of a message. */
  async #write(piece: string | Buffer, fin: boolean): Promise<void> {
    await this.#answers.eventLoop.turn(this.owner);
    if (this.over.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#socket.terminate(), STILL_MS);
      // A closed socket may never call back.
      const settle = () => {
        clearTimeout(timer);
        this.over.removeEventListener("abort", settle);
        resolve();
      };
      this.over.addEventListener("abort", settle);
      this.#socket.send(piece, { binary: typeof piece !== "string", fin }, settle);
    });
  }

  #checkAlive(): void {
    // While its messages are taken, the socket is paused, so a pong could not arrive.
    if (this.#isAlive || this.#isTaking) this.#socket.ping();
    else this.#socket.terminate();
    this.#isAlive = false;
  }
}
