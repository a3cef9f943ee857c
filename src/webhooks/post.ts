import { isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { connect, type SecureContext } from "node:tls";
import { type buildConnector, Client } from "undici";
import type { Body } from "./body.ts";
import { permittedAddresses } from "./guard.ts";
import type { Resolve } from "./resolve.ts";
import type { Target } from "./target.ts";

/** What is read of an answer at most, and what is kept of it. */
const MAX_ANSWER_BYTES = 65_536;
const KEPT_BYTES = 1_024;
const MAX_HEADER_BYTES = 16_384;
/** Of the whole response. Interim responses (1xx), chunk sizes and chunk extensions count as neither header nor body. */
const MAX_RECEIVED_BYTES = 262_144;

export interface Post {
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

export interface PostOptions {
  readonly trust: SecureContext;
  readonly resolve: Resolve;
  /** Ends it: when its time is over, or when the service stops. */
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  /** At most 1 KiB. */
  readonly begin: Buffer;
  /** Why it was not read to its end; null when it was, or was long enough. */
  readonly broken: unknown;
}

/**
 * One POST on a connection of its own, to addresses that were just judged. Nothing follows a
 * redirect, keeps a cookie, asks the environment for a proxy or reuses a connection.
 * @throws BlockedError; what the connection failed of; the signal's reason.
 */
export async function post({ target, headers, body }: Post, options: PostOptions): Promise<Answer> {
  const { signal } = options;
  const addresses = await orAborted(() => permittedAddresses(target, options.resolve, signal), signal);
  const client = new Client(target.url.origin, {
    connect: connector(target, addresses, options),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0, // the signal is the one clock
    bodyTimeout: 0,
  });
  try {
    const path = `${target.url.pathname}${target.url.search}`;
    const length = { "content-length": body.reduce((sum, piece) => sum + piece.length, 0).toString() };
    const request = () =>
      client.request({
        method: "POST",
        path,
        headers: { ...headers, ...length },
        // In pieces, because TLS encrypts at once all that it is given: a receiver that does not read would hold a second copy.
        body: Readable.from(body),
        signal,
        reset: true,
      });
    const answer = await orAborted(request, signal); // the client itself hears of it only once it is connected
    return { status: answer.statusCode, ...(await readBegin(answer.body)) };
  } finally {
    void client.destroy();
  }
}

/** Connects to these addresses, whatever the name means by now, and asks for the certificate of the name. */
function connector({ host, port }: Target, addresses: readonly string[], options: PostOptions) {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_name, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  };
  return (_: unknown, callback: buildConnector.Callback) => {
    // Set although it is the default: the environment can turn it off for a whole process.
    const verify = { secureContext: options.trust, rejectUnauthorized: true };
    const named = isIP(host) === 0 && { servername: host }; // many receivers share an address, and choose by it
    const socket = connect({ host, port, lookup, ...verify, ...named, ALPNProtocols: ["http/1.1"] });
    const failed = (error: Error) => callback(error, null);
    socket.once("error", failed).once("secureConnect", () => {
      socket.off("error", failed);
      // Before the client's own listener, which reads.
      socket.on("readable", () => {
        if (socket.bytesRead > MAX_RECEIVED_BYTES)
          socket.destroy(new Error(`more than ${MAX_RECEIVED_BYTES / 1024} KiB were received`));
      });
      callback(null, socket);
    });
    // The same holds for its end: the client would not let go of a socket that is not connected yet.
    const abort = () => socket.destroy();
    if (options.signal.aborted) abort();
    options.signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => options.signal.removeEventListener("abort", abort));
  };
}

/** An answer that breaks off has a status all the same, and the status is what decides. */
async function readBegin(body: AsyncIterable<Buffer>): Promise<Pick<Answer, "begin" | "broken">> {
  const kept: Buffer[] = [];
  let length = 0;
  let broken: unknown = null;
  try {
    for await (const chunk of body) {
      if (length < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - length));
      length += chunk.length;
      if (length >= MAX_ANSWER_BYTES) break;
    }
  } catch (error) {
    broken = error;
  }
  return { begin: Buffer.concat(kept), broken };
}

/** @param work is not begun when the signal has aborted. */
async function orAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work(), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
