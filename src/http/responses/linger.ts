import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Bounds for reading from a client that still sends its request after it has got the response. */
const LINGER_MS = 10_000;
const LINGER_BYTES = 32 * 1_048_576;
/** A client that sends nothing for this time counts as having finished. */
const QUIET_MS = 500;

const CHECK_MS = 100;

/**
 * Reads and discards what the client still sends after the response, then calls `close`. If a connection is closed while the client
 * sends, it is reset, and the client often gets an error instead of the response.
 * @param over whether the client has sent its whole request.
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

/**
 * If a response that closes its connection ends while the request is still arriving, delays the close by linger(). Node would close the
 * connection at once.
 */
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
