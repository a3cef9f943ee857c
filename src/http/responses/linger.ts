import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Limits on reading from a client that is still sending after its response. */
const LINGER_MS = 10_000;
const LINGER_BYTES = 32 * 1_048_576;
/** A client that is silent for this long has finished sending. */
const QUIET_MS = 500;

const CHECK_MS = 100;

/**
 * Reads and discards input after the response, then calls back. Closing a connection while the client sends resets it,
 * and the client then often gets an error instead of the response.
 * @param over whether the client has sent everything.
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
  }, CHECK_MS);
  socket.once("close", () => clearInterval(timer));
  socket.resume();
}

/** The latest request of each connection. */
const newest = new WeakMap<Socket, IncomingMessage>();

/** Keeps a connection open when its response ends while the request is still arriving. Node would close it at once. */
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
