import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { Duplex, Readable } from "node:stream";
import { connect, type SecureContext } from "node:tls";
import { type buildConnector, Client } from "undici";
import type { Headers } from "../domain/delivery.ts";
import type { Resolve } from "../network/resolve.ts";
import type { Body } from "./body.ts";
import { permittedAddresses } from "./permitted-addresses.ts";
import type { WebhookTarget } from "./target.ts";

/** The most bytes of the body of a response that are read, and that are kept. */
const MAX_ANSWER_BYTES = 65_536;
const KEPT_BYTES = 1_024;
const MAX_HEADER_BYTES = 16_384;
/**
 * The most bytes that are received on a connection. The bounds of header and body do not count interim responses (1xx), chunk sizes, chunk
 * extensions, and the 22 bytes around the content of each TLS record.
 */
const MAX_RECEIVED_BYTES = 262_144;
/**
 * The most bytes that are received before the handshake is complete. Usual certificates have some 5 KiB. A receiver chooses the sizes of
 * the keys in its certificates, and OpenSSL verifies up to a hundred of them without a pause: 90 KiB of them take 0.4 s of CPU time.
 */
const MAX_HANDSHAKE_BYTES = 32_768;

export interface Post {
  readonly method: "POST" | "PUT";
  readonly target: WebhookTarget;
  /** All headers except `host` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

export interface PostOptions {
  readonly trust: SecureContext;
  readonly resolve: Resolve;
  /** Aborts the request at its timeout or when the service stops. */
  readonly signal: AbortSignal;
}

/**
 * Sends one request.
 * @param options.accountId the account that the request belongs to.
 * @throws as `post` does.
 */
export type PostTo = (
  request: Post,
  options: { readonly signal: AbortSignal; readonly accountId: string },
) => Promise<HttpResponse>;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The first bytes of the body of the response, at most 1 KiB. */
  readonly begin: Buffer;
  /** The error that interrupted reading the body; null if the whole body, or enough of it, was read. */
  readonly broken: unknown;
}

/**
 * Resolves and checks the addresses of the target, and sends one request on a new connection. It does not follow redirects, keep cookies,
 * use a proxy of the environment or reuse connections.
 * @throws BlockedError, the error of the connection, or the reason of the signal.
 */
export async function post({ method, target, headers, body }: Post, options: PostOptions): Promise<HttpResponse> {
  const { signal } = options;
  const addresses = await orAborted(() => permittedAddresses(target, options.resolve, signal), signal);
  const client = new Client(target.url.origin, {
    connect: connector(target, addresses, options),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0, // the signal is the only timeout
    bodyTimeout: 0,
  });
  try {
    const path = `${target.url.pathname}${target.url.search}`;
    const request = () =>
      client.request({
        method,
        path,
        headers,
        // The body is sent in pieces, because TLS encrypts each write as a whole: if the receiver does not read, a body that is written
        // at once would be in memory twice.
        body: Readable.from(body),
        signal,
        reset: true,
      });
    const answer = await orAborted(request, signal); // the client ignores the signal until it is connected
    return { status: answer.statusCode, headers: storedHeaders(answer.headers), ...(await readBegin(answer.body)) };
  } finally {
    void client.destroy();
  }
}

/** Connects to these addresses without resolving the name again, and requires a certificate for the name. */
function connector({ host, port }: WebhookTarget, addresses: readonly string[], options: PostOptions) {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_name, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  };
  return (_: unknown, callback: buildConnector.Callback) => {
    // Verification is set here, because an environment variable can turn off the default for the whole process.
    const verify = { secureContext: options.trust, rejectUnauthorized: true };
    const named = isIP(host) === 0 && { servername: host }; // a server with several names chooses its certificate by this name
    const raw = connectTcp({ host, port, lookup });
    const { stream, allow } = bounded(raw, MAX_HANDSHAKE_BYTES);
    const socket = connect({ socket: stream, host, ...verify, ...named, ALPNProtocols: ["http/1.1"] });
    const failed = (error: Error) => callback(error, null);
    socket.once("error", failed).once("secureConnect", () => {
      socket.off("error", failed);
      allow(MAX_RECEIVED_BYTES);
      callback(null, socket);
    });
    // The client does not close a socket that is not yet connected, so the signal does.
    const abort = () => {
      socket.destroy();
      raw.destroy();
    };
    if (options.signal.aborted) abort();
    options.signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => options.signal.removeEventListener("abort", abort));
  };
}

/**
 * A stream over a connection that fails when more bytes have been received than are allowed, before it passes them on.
 * @returns `allow` sets a new bound.
 */
function bounded(raw: Socket, most: number): { readonly stream: Duplex; readonly allow: (bytes: number) => void } {
  let allowed = most;
  const stream = new Duplex({
    read: () => void raw.resume(),
    // A failed write also ends the connection, whose error says more.
    write: (chunk: Buffer, _, done) => {
      const write = () => raw.write(chunk, () => done());
      if (raw.pending) raw.once("connect", write);
      else write();
    },
    final: (done) => void raw.end(() => done()),
    destroy: (error, done) => {
      raw.destroy();
      done(error);
    },
  });
  raw.on("data", (chunk) => {
    if (raw.bytesRead > allowed) stream.destroy(new Error(`more than ${allowed / 1024} KiB were received`));
    else if (!stream.push(chunk)) raw.pause();
  });
  raw.once("end", () => stream.push(null));
  raw.once("error", (error) => stream.destroy(error));
  raw.once("close", () => stream.destroy());
  const allow = (bytes: number) => {
    allowed = bytes;
  };
  return { stream, allow };
}

/** The most headers of a response that the delivery log keeps, and the most characters of each. A receiver can send 16 KiB of headers. */
const KEPT_HEADERS = 30;
const KEPT_HEADER_CHARACTERS = 200;
/** Headers whose values are not kept, because they can contain secrets of the receiver. */
const SECRET_HEADERS = new Set(["set-cookie"]);

/** The headers of a response that are kept: the first ones, with the beginning of each value. */
export function storedHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Headers {
  return Object.entries(headers)
    .flatMap(([name, values = []]) => [values].flat().map((value) => [name, value] as const))
    .slice(0, KEPT_HEADERS)
    .map(([name, value]) => [begin(name), SECRET_HEADERS.has(name) ? "(not kept)" : begin(value)]);
}

function begin(text: string): string {
  return text.length > KEPT_HEADER_CHARACTERS ? `${text.slice(0, KEPT_HEADER_CHARACTERS)}…` : text;
}

/** Reads the beginning of the body. If it is interrupted, the response still has a status, which decides about the delivery. */
async function readBegin(body: AsyncIterable<Buffer>): Promise<Pick<HttpResponse, "begin" | "broken">> {
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

/** Waits for the work or for the signal, whichever comes first. @param work is not started if the signal is already aborted. */
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
