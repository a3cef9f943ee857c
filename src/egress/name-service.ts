import type { Socket } from "node:net";
import { DnsStream, framed } from "./dns.ts";
import { ANSWER, encodeWorkerFrame, type QueryFrame, queryFrames } from "./protocol.ts";

/*
 * The name service of a sandbox: reads queries from the control connection and from TCP connections to port 53, and writes the answers. A sandbox can send
 * queries without end, so their number in a time is bounded for the sandbox as a whole; above it, and while the answers are not read, no queries are read.
 */

const WINDOW_MS = 100;
const QUERIES_PER_WINDOW = 50;
/** Answers that are not read yet. */
const MAX_UNREAD_BYTES = 65_536;
/** The relay must read resets, of which there are at most as many as streams. */
const MAX_UNREAD_CONTROL_BYTES = 1_048_576;

/** How many queries a sandbox may ask. */
export class QueryPace {
  #windowMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Counts a query. @returns whether it may be answered now; otherwise it may be in `WINDOW_MS` at the latest. */
  take(): boolean {
    const now = performance.now();
    if (now - this.#windowMs >= WINDOW_MS) [this.#windowMs, this.#count] = [now, 0];
    if (this.#count >= QUERIES_PER_WINDOW) return false;
    this.#count++;
    return true;
  }
}

/** Answers one message. @param cgroupId of the socket that asked; 0 if it is not known. @returns null if there is no answer. */
export type AnswerMessage = (message: Buffer, cgroupId: bigint) => Buffer | null;

/** Splits bytes into messages. */
interface Messages<Message> {
  push(chunk: Buffer): void;
  /** @returns the next message; undefined if none is complete; null if the bytes are not valid. */
  next(): Message | undefined | null;
}

/**
 * Reads messages from a socket, at the pace of the sandbox, and handles them. A socket with bytes that are not valid is destroyed.
 * @param ended is called when the other side sends nothing more, and everything before was handled.
 */
function serve<Message>(
  socket: Socket,
  messages: Messages<Message>,
  pace: QueryPace,
  handle: (message: Message) => void,
  ended: () => void,
): void {
  let waiting: Message | undefined;
  let timer: NodeJS.Timeout | undefined;
  let hasEnded = false;
  const drain = () => {
    timer = undefined;
    while (!socket.destroyed) {
      const message = waiting ?? messages.next();
      waiting = undefined;
      if (message === null) socket.destroy();
      if (message === null || message === undefined) break;
      if (socket.writableLength > MAX_UNREAD_BYTES || !pace.take()) {
        waiting = message;
        socket.pause();
        timer = setTimeout(drain, WINDOW_MS);
        return;
      }
      handle(message);
    }
    if (hasEnded) ended();
    else socket.resume();
  };
  socket.on("data", (chunk: Buffer) => {
    messages.push(chunk);
    if (timer === undefined) drain();
  });
  socket.on("end", () => {
    hasEnded = true;
    if (timer === undefined) ended();
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => clearTimeout(timer));
  socket.resume();
}

/** The control connection of a sandbox. */
export class ControlConnection {
  readonly #socket: Socket;

  constructor(socket: Socket, pace: QueryPace, answer: AnswerMessage, ended: () => void) {
    this.#socket = socket;
    socket.on("close", ended);
    socket.write(Buffer.of(ANSWER.goOn));
    const handle = ({ queryId, cgroupId, datagram }: QueryFrame) => {
      const response = answer(datagram, cgroupId) ?? Buffer.alloc(0);
      socket.write(encodeWorkerFrame({ type: "answer", queryId, datagram: response }));
    };
    serve(socket, queryFrames(), pace, handle, () => socket.destroy());
  }

  reset(streamId: bigint): void {
    if (this.#socket.writableLength > MAX_UNREAD_CONTROL_BYTES) this.#socket.destroy();
    else this.#socket.write(encodeWorkerFrame({ type: "reset", streamId }));
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Answers the queries of a TCP connection to port 53. @param cgroupId of the connecting socket. @param idleMs closes it after this time without a query. */
export function serveDnsStream(
  socket: Socket,
  cgroupId: bigint,
  pace: QueryPace,
  answer: AnswerMessage,
  idleMs: number,
): void {
  socket.setTimeout(idleMs, () => socket.destroy());
  socket.write(Buffer.of(ANSWER.goOn));
  const handle = (message: Buffer) => {
    const response = answer(message, cgroupId);
    if (response) socket.write(framed(response));
    else socket.destroy();
  };
  serve(socket, new DnsStream(), pace, handle, () => socket.end());
}
