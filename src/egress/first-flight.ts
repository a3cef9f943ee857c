import { isHostName } from "../domain/egress/host.ts";

/*
 * Cross-checks of what a program sends on a connection to a name, before it is forwarded: the server name in the first message of TLS on port 443, and the
 * Host of each HTTP/1 request on port 80. The connection already goes to the name that the address stands for; but a server that serves many names could be
 * asked for another one. Ports of other protocols have no such check: there, often the server speaks first.
 *
 * What can be read in two ways is refused. Inside of TLS, a request for another name of the same server stays possible.
 */

/** What is held until it is checked, and for how long. */
export const MAX_HELD_BYTES = 16_384;
export const MAX_HELD_MS = 5_000;

/** Bytes that may be forwarded now, or why nothing more may be. */
export type Flight = { readonly forward: Buffer } | { readonly refused: string };

/** The check of one connection. */
export interface FlightCheck {
  /** The next bytes of the program. After a refusal, it is not called again. */
  push(chunk: Buffer): Flight;
  /** The next bytes of the server, which are forwarded in any case. */
  answered(chunk: Buffer): Flight;
  /**
   * The number of the part (such as a head) of which the program has sent only the beginning, or of the first one; null if nothing is missing. The same
   * number may stay for `MAX_HELD_MS`.
   */
  readonly awaited: number | null;
}

const NOTHING = Buffer.alloc(0);

/** The check for a connection to a name; null if the port has none. */
export function flightCheck(name: string, port: number): FlightCheck | null {
  if (port === 443) return new TlsCheck(name);
  if (port === 80) return new HttpCheck(name, port);
  return null;
}

function mismatch(found: string | null, name: string, where: string): string {
  if (found === null) return `the connection to ${name} has no ${where}`;
  const other = isHostName(found) ? found : "something that is not the name of a host";
  return `the connection to ${name} asks for ${other} in its ${where}`;
}

class TlsCheck implements FlightCheck {
  readonly #name: string;
  #held: Buffer = NOTHING;
  /** With fewer bytes, the message is not complete. This bounds the work for a message that arrives byte by byte. */
  #needed = 1;
  #isDone = false;

  constructor(name: string) {
    this.#name = name;
  }

  get awaited(): number | null {
    return this.#isDone ? null : 0;
  }

  push(chunk: Buffer): Flight {
    if (this.#isDone) return { forward: chunk };
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    if (this.#held.length < this.#needed) return { forward: NOTHING };
    const hello = serverName(this.#held);
    if ("needed" in hello) {
      this.#needed = hello.needed;
      return hello.needed > MAX_HELD_BYTES ? { refused: notTls(this.#name) } : { forward: NOTHING };
    }
    if ("wrong" in hello) return { refused: notTls(this.#name) };
    if (hello.serverName !== this.#name) return { refused: mismatch(hello.serverName, this.#name, "TLS server name") };
    this.#isDone = true;
    const forward = this.#held;
    this.#held = NOTHING;
    return { forward };
  }

  answered(): Flight {
    return { forward: NOTHING };
  }
}

function notTls(name: string): string {
  return `the connection to ${name} does not begin with a complete TLS ClientHello`;
}

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const RECORD_HEADER_BYTES = 5;
const MAX_RECORD_BYTES = 16_384;

/**
 * The server name of a ClientHello, which can be in several records.
 * @returns the name in lower case, or null if there is none; `needed`: with fewer bytes it is not complete; `wrong`: these bytes do not begin one.
 */
export function serverName(
  bytes: Buffer,
): { readonly serverName: string | null } | { readonly needed: number } | { readonly wrong: true } {
  const wrong = { wrong: true } as const;
  const fragments: Buffer[] = [];
  let [at, got, total] = [0, 0, Number.POSITIVE_INFINITY];
  while (got < total) {
    if (bytes.length > at && bytes[at] !== HANDSHAKE) return wrong;
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) return wrong;
    if (bytes.length < at + RECORD_HEADER_BYTES) return { needed: at + RECORD_HEADER_BYTES };
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > MAX_RECORD_BYTES) return wrong;
    at += RECORD_HEADER_BYTES;
    if (bytes.length < at + length) return { needed: at + length };
    fragments.push(bytes.subarray(at, at + length));
    at += length;
    got += length;
    // The type and length of the message are in its first four bytes, which can be in several records.
    if (total !== Number.POSITIVE_INFINITY || got < 4) continue;
    const start = Buffer.concat(fragments);
    if (start[0] !== CLIENT_HELLO) return wrong;
    total = 4 + start.readUIntBE(1, 3);
    if (total > MAX_HELD_BYTES) return wrong;
  }
  const name = nameIn(Buffer.concat(fragments).subarray(4, total));
  return name === undefined ? wrong : { serverName: name };
}

/** Reads values with a length before them. All methods return undefined if the bytes end before. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  number(bytes: 1 | 2): number | undefined {
    if (this.#at + bytes > this.#bytes.length) return undefined;
    const value = this.#bytes.readUIntBE(this.#at, bytes);
    this.#at += bytes;
    return value;
  }

  take(length: number): Buffer | undefined {
    if (this.#at + length > this.#bytes.length) return undefined;
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  vector(lengthBytes: 1 | 2): Buffer | undefined {
    const length = this.number(lengthBytes);
    return length === undefined ? undefined : this.take(length);
  }
}

/** @param hello the body of the message. @returns the name; null if there is none; undefined if the message is not a valid one. */
function nameIn(hello: Buffer): string | null | undefined {
  const reader = new Reader(hello);
  const fixed = [reader.take(2 + 32), reader.vector(1), reader.vector(2), reader.vector(1)]; // version and random, session, ciphers, compression
  if (fixed.includes(undefined)) return undefined;
  if (reader.isAtEnd) return null; // extensions are optional
  const extensions = reader.vector(2);
  if (!extensions || !reader.isAtEnd) return undefined;
  const each = new Reader(extensions);
  let name: string | null = null;
  while (!each.isAtEnd) {
    const type = each.number(2);
    const content = each.vector(2);
    if (type === undefined || !content) return undefined;
    if (type !== SERVER_NAME) continue;
    if (name !== null) return undefined; // two server names
    const list = new Reader(content);
    const names = list.vector(2);
    if (!names || !list.isAtEnd) return undefined;
    const one = new Reader(names);
    const isHost = one.number(1) === 0;
    const host = one.vector(2);
    if (!isHost || !host || host.length === 0 || !one.isAtEnd) return undefined;
    name = host.toString("latin1").toLowerCase();
  }
  return name;
}

const LINE_END = "\r\n";
const HEAD_END = Buffer.from("\r\n\r\n");
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible characters, spaces and tabs, and bytes above ASCII: no other control characters. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/1\.([01])$/;
const ORIGIN_TARGET = /^(\/[\x21-\x7e\x80-\xff]*|\*)$/;
/** How long a length of a body or of a chunk may be written. All are exact as numbers. */
const LENGTH = /^\d{1,15}$/;
const CHUNK_SIZE = /^([0-9a-f]{1,12})([\t ]*;[\t\x20-\x7e]*)?$/i;
const MAX_CHUNK_LINE_BYTES = 256;
/** With these bytes, a response begins after which a WebSocket follows. */
const SWITCHED = "HTTP/1.1 101 ";

/** What follows in the bytes of the program. `counted`: as many bytes of content. `passed`: everything, unchecked. */
type Expected =
  | { readonly kind: "head" | "chunkSize" | "trailers" | "chunkEnd" | "switch" | "passed" }
  | { readonly kind: "counted"; readonly bytes: number; readonly next: "head" | "chunkEnd" };

/** What is searched for before a part can be checked, and how long the part may be. */
const PART = {
  head: { end: HEAD_END, most: MAX_HELD_BYTES },
  chunkSize: { end: Buffer.from(LINE_END), most: MAX_CHUNK_LINE_BYTES },
  trailers: { end: Buffer.from(LINE_END), most: MAX_HELD_BYTES },
  chunkEnd: { end: Buffer.from(LINE_END), most: LINE_END.length },
} as const;

class HttpCheck implements FlightCheck {
  readonly #name: string;
  readonly #port: number;
  #expected: Expected = { kind: "head" };
  /** Bytes that are not checked yet, and how many of them were already searched for the end of the part. */
  #held: Buffer = NOTHING;
  #searched = 0;
  #trailerBytes = 0;
  #parts = 0;
  #requests = 0;
  /** The first bytes of the server, as long as they matter. */
  #answer = "";

  constructor(name: string, port: number) {
    this.#name = name;
    this.#port = port;
  }

  get awaited(): number | null {
    return this.#held.length > 0 || this.#requests === 0 ? this.#parts : null;
  }

  push(chunk: Buffer): Flight {
    if (this.#held.length === 0) {
      const passed = this.#pass(chunk);
      if (passed === chunk.length) return { forward: chunk };
      return this.#check(chunk.subarray(passed), passed === 0 ? [] : [chunk.subarray(0, passed)]);
    }
    return this.#check(Buffer.concat([this.#held, chunk]), []);
  }

  answered(chunk: Buffer): Flight {
    if (this.#answer.length >= SWITCHED.length) return { forward: NOTHING };
    this.#answer += chunk.toString("latin1", 0, SWITCHED.length - this.#answer.length);
    if (this.#expected.kind !== "switch" || this.#answer.length < SWITCHED.length) return { forward: NOTHING };
    this.#expected = { kind: this.#answer === SWITCHED ? "passed" : "head" };
    const held = this.#held;
    this.#held = NOTHING;
    return held.length === 0 ? { forward: NOTHING } : this.push(held);
  }

  /** Takes content, which needs no check, from the beginning of a chunk. @returns how many bytes. */
  #pass(chunk: Buffer): number {
    if (this.#expected.kind === "passed") return chunk.length;
    if (this.#expected.kind !== "counted") return 0;
    const { bytes, next } = this.#expected;
    if (chunk.length < bytes) this.#expected = { kind: "counted", bytes: bytes - chunk.length, next };
    else this.#expected = { kind: next };
    return Math.min(bytes, chunk.length);
  }

  /** Checks as many parts as are complete. @param forward what was checked before. */
  #check(bytes: Buffer, forward: Buffer[]): Flight {
    let rest = bytes;
    while (rest.length > 0) {
      const passed = this.#pass(rest);
      if (passed > 0) {
        forward.push(rest.subarray(0, passed));
        rest = rest.subarray(passed);
        continue;
      }
      const { kind } = this.#expected;
      if (kind === "switch") {
        if (rest.length > MAX_HELD_BYTES)
          return this.#refuse("sends more before the response to its request for a WebSocket");
        break;
      }
      const part = PART[kind as keyof typeof PART];
      const end = rest.indexOf(part.end, this.#searched);
      if (end === -1 || end + part.end.length > part.most) {
        if (end !== -1 || rest.length >= part.most)
          return this.#refuse("has an HTTP/1 message that is too long or not complete");
        this.#searched = Math.max(0, rest.length - part.end.length + 1);
        break;
      }
      this.#searched = 0;
      const refused = this.#part(kind as keyof typeof PART, rest.toString("latin1", 0, end));
      if (refused !== null) return { refused };
      forward.push(rest.subarray(0, end + part.end.length));
      rest = rest.subarray(end + part.end.length);
    }
    this.#held = rest;
    return { forward: forward.length === 1 ? (forward[0] ?? NOTHING) : Buffer.concat(forward) };
  }

  #refuse(why: string): { readonly refused: string } {
    return { refused: this.#why(why) };
  }

  #why(why: string): string {
    return `the connection to ${this.#name} ${why}`;
  }

  /** Checks a part, without its end, and decides what follows. @returns why it is refused, or null. */
  #part(kind: keyof typeof PART, text: string): string | null {
    this.#parts++;
    if (kind === "head") return this.#head(text);
    if (kind === "chunkSize") {
      const size = CHUNK_SIZE.exec(text);
      if (!size) return this.#why("has a body in chunks that is not valid");
      const bytes = Number.parseInt(size[1] ?? "", 16);
      this.#trailerBytes = 0;
      this.#expected = bytes === 0 ? { kind: "trailers" } : { kind: "counted", bytes, next: "chunkEnd" };
    } else if (kind === "chunkEnd") {
      if (text !== "") return this.#why("has a body in chunks that is not valid");
      this.#expected = { kind: "chunkSize" };
    } else {
      this.#trailerBytes += text.length + LINE_END.length;
      if (text !== "" && !headerOf(text)) return this.#why("has a header that is not valid");
      if (this.#trailerBytes > MAX_HELD_BYTES)
        return this.#why("has an HTTP/1 message that is too long or not complete");
      if (text === "") this.#expected = { kind: "head" };
    }
    return null;
  }

  #head(text: string): string | null {
    const [line = "", ...lines] = text.split(LINE_END);
    const request = REQUEST_LINE.exec(line);
    const headers = lines.map(headerOf);
    if (!request || headers.includes(null)) return this.#why("has something else than an HTTP/1 request");
    const [, method = "", target = "", minor] = request;
    const all = (name: string) => headers.flatMap((header) => (header?.name === name ? [header.value] : []));
    const hosts = all("host");
    const [host = null] = hosts;
    if (hosts.length > 1 || !this.#isOwn(host))
      return mismatch(host?.toLowerCase() ?? null, this.#name, "HTTP header Host");
    const authority = /^http:\/\/([^/?#]*)([/?][\x21\x22\x24-\x7e\x80-\xff]*)?$/i.exec(target)?.[1];
    if (authority !== undefined ? !this.#isOwn(authority) : !ORIGIN_TARGET.test(target))
      return this.#why("has a request for something else than a path");
    if (method === "CONNECT") return this.#why("asks for a tunnel");
    const body = bodyOf(all("content-length"), all("transfer-encoding"), minor === "1");
    if (!body) return this.#why("has a request whose length is not certain");
    this.#requests++;
    const isWebSocket = all("upgrade").some((value) => value.toLowerCase() === "websocket");
    this.#expected =
      isWebSocket && this.#requests === 1 && this.#answer === "" && body.kind === "head" ? { kind: "switch" } : body;
    return null;
  }

  #isOwn(host: string | null): boolean {
    const lower = host?.toLowerCase();
    return lower === this.#name || lower === `${this.#name}:${this.#port}`;
  }
}

/** @returns null if the line is not a header with one meaning. */
function headerOf(line: string): { readonly name: string; readonly value: string } | null {
  const colon = line.indexOf(":");
  const [name, value] = [line.slice(0, colon), line.slice(colon + 1)];
  if (colon === -1 || !TOKEN.test(name) || !VALUE.test(value)) return null;
  return { name: name.toLowerCase(), value: value.replace(/^[\t ]+|[\t ]+$/g, "") };
}

/** What follows a head. @returns null if servers could disagree about it. */
function bodyOf(lengths: readonly string[], encodings: readonly string[], isHttp11: boolean): Expected | null {
  if (encodings.length > 0) {
    const isChunked = encodings.length === 1 && encodings[0]?.toLowerCase() === "chunked";
    return isChunked && lengths.length === 0 && isHttp11 ? { kind: "chunkSize" } : null;
  }
  const [length] = lengths;
  if (length === undefined) return { kind: "head" };
  if (lengths.length > 1 || !LENGTH.test(length)) return null;
  return Number(length) === 0 ? { kind: "head" } : { kind: "counted", bytes: Number(length), next: "head" };
}
