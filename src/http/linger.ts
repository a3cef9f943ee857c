import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** For how long, and how much, a client is read that is still sending what it was already answered. */
const LINGER_MS = 10_000;
const LINGER_BYTES = 32 * 1_048_576;
/** A client that has sent nothing for this long has ended. */
const QUIET_MS = 500;

const LOOK_MS = 100;

/**
 * Reads and discards what a client sends after its answer, then calls back. A connection that is closed while the client sends
 * is reset, and the client then often has an error instead of the answer.
 * @param over the client has sent all.
 */
export function linger(socket: Socket, over: () => boolean, close: () => void): void {
  const began = performance.now();
  const before = socket.bytesRead;
  let seen = { bytes: before, at: began };
  const timer = setInterval(() => {
    const now = performance.now();
    if (socket.bytesRead !== seen.bytes) seen = { bytes: socket.bytesRead, at: now };
    const isLate = now - began > LINGER_MS || now - seen.at > QUIET_MS || seen.bytes - before > LINGER_BYTES;
    if (!socket.destroyed && !over() && !isLate) return;
    clearInterval(timer);
    close();
  }, LOOK_MS);
  socket.once("close", () => clearInterval(timer));
  socket.resume();
}

/** The newest request of each connection. */
const newest = new WeakMap<Socket, IncomingMessage>();

/** Has a connection linger where the answer ends it while the request is still coming. Node would close it at once. */
export function lingerAfter(request: IncomingMessage): void {
  const { socket } = request;
  const isWatched = newest.has(socket);
  newest.set(socket, request);
  if (isWatched) return;
  const destroySoon = socket.destroySoon.bind(socket);
  let lingers = false;
  socket.destroySoon = () => {
    const last = newest.get(socket);
    if (lingers || !last || last.complete || socket.destroyed) return destroySoon();
    lingers = true;
    last.resume();
    linger(socket, () => last.complete, destroySoon);
  };
}
