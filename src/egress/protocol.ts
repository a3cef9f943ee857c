import { addressText, numberOf } from "../domain/egress/cidr.ts";

/*
 * The protocol between the relay in the network namespace of a sandbox and the worker, over a Unix stream socket. All numbers are big-endian.
 *
 * Each connection to the socket begins with a header of 80 bytes from the relay:
 *
 *   offset  bytes
 *        0      4  "ASEG"
 *        4      1  version, 1
 *        5      1  kind: 1 a TCP connection of the sandbox, 2 the control connection
 *        6      2  0
 *        8     32  token of the network of the sandbox: characters of A-Z a-z 0-9 _ -
 *       40      8  id of the stream, which the relay never uses again          (0 for kind 2)
 *       48      8  id of the cgroup of the connecting socket, 0 if unknown     (0 for kind 2)
 *       56     16  destination address, IPv4 as IPv4-mapped                    (0 for kind 2)
 *       72      2  destination port                                            (0 for kind 2)
 *       74      2  source port                                                 (0 for kind 2)
 *       76      4  0
 *
 * The whole header must arrive within 5 s. A header that is not valid, or a token that is not known, closes the connection without an answer. Otherwise the
 * worker answers one byte: 0, go on; or 1, refused, and closes the connection. The relay sends nothing after the header until it has this answer.
 *
 * Kind 1: After 0, raw bytes follow in both directions. The end of one direction is that of the stream (shutdown). After 1, or if the connection ends without
 * an answer, the relay resets the connection of the sandbox. In the middle of a stream, the worker asks for a reset over the control connection; it then sends
 * nothing more on the stream, and waits until the relay closes it. If the worker closes a stream completely before both directions have ended, it has died,
 * and the relay resets the connection as well. If the program resets its connection, the relay closes the stream. A relay has at most MAX_STREAMS streams,
 * with those that wait for their answer, and does not accept another connection of the sandbox until one of them ends.
 *
 * Kind 2: Each sandbox has one control connection. It comes first: without it, streams are refused; when it ends, the worker closes all streams, the relay
 * resets all connections, and the network of the sandbox stays closed until another control connection begins. After the answer 0, frames follow in both
 * directions. A frame begins with a length of 2 bytes, which counts the bytes after it.
 *
 *   from the relay, a DNS query:                        from the worker, the answer to a query:         from the worker, a reset:
 *   offset  bytes                                       offset  bytes                                   offset  bytes
 *        0      2  length, 22 and the datagram               0      2  length, 14 and the datagram           0      2  length, 14
 *        2      1  type, 1                                   2      1  type, 2                               2      1  type, 3
 *        3      1  0                                         3      1  0                                     3      1  0
 *        4      2  source port                               4      4  0                                     4      4  0
 *        6      2  0                                         8      8  id of the query                       8      8  id of the stream
 *        8      8  id of the query                          16      n  the datagram
 *       16      8  id of the cgroup, 0 if unknown
 *       24      n  the datagram, up to 4,096 bytes
 *
 * Each query is answered once. An answer without a datagram means that the sandbox gets none. The worker reads no further queries while there are too many of
 * them; then the relay drops datagrams. A frame that is not valid closes the control connection.
 */

export const HEADER_BYTES = 80;
export const ANSWER = { goOn: 0, refused: 1 } as const;
/** The streams of one relay, which are more than the connections that any policy allows (`EGRESS_BUDGETS.connections`). */
export const MAX_STREAMS = 128;

const MAGIC = Buffer.from("ASEG");
const VERSION = 1;
const KIND = { stream: 1, control: 2 } as const;
const TOKEN = /^[A-Za-z0-9_-]{32}$/;
const FRAME = { query: 1, answer: 2, reset: 3 } as const;
const LENGTH_BYTES = 2;
/** The bytes of a frame after its length, without its datagram. */
const QUERY_BYTES = 22;
const ANSWER_BYTES = 14;
const MAX_DATAGRAM_BYTES = 4_096;

/** A TCP connection of a sandbox. */
export interface StreamHeader {
  readonly kind: "stream";
  readonly token: string;
  readonly streamId: bigint;
  /** 0: unknown. */
  readonly cgroupId: bigint;
  /** The 16 bytes of the destination; IPv4 as IPv4-mapped. */
  readonly destination: Buffer;
  readonly port: number;
  readonly sourcePort: number;
}

export type Header = StreamHeader | { readonly kind: "control"; readonly token: string };

/** @param bytes `HEADER_BYTES` bytes. @returns null if they are not a valid header. */
export function parseHeader(bytes: Buffer): Header | null {
  const token = bytes.toString("latin1", 8, 40);
  const isValid =
    bytes.length === HEADER_BYTES &&
    bytes.subarray(0, 4).equals(MAGIC) &&
    bytes[4] === VERSION &&
    bytes.readUInt16BE(6) === 0 &&
    bytes.readUInt32BE(76) === 0 &&
    TOKEN.test(token);
  if (!isValid) return null;
  if (bytes[5] === KIND.control)
    return bytes.subarray(40, 76).every((byte) => byte === 0) ? { kind: "control", token } : null;
  const port = bytes.readUInt16BE(72);
  if (bytes[5] !== KIND.stream || port === 0) return null;
  return {
    kind: "stream",
    token,
    streamId: bytes.readBigUInt64BE(40),
    cgroupId: bytes.readBigUInt64BE(48),
    destination: Buffer.from(bytes.subarray(56, 72)),
    port,
    sourcePort: bytes.readUInt16BE(74),
  };
}

/** The header as the relay writes it. */
export function encodeHeader(header: Header): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(bytes);
  bytes[4] = VERSION;
  bytes[5] = KIND[header.kind];
  bytes.write(header.token, 8, "latin1");
  if (header.kind === "control") return bytes;
  bytes.writeBigUInt64BE(header.streamId, 40);
  bytes.writeBigUInt64BE(header.cgroupId, 48);
  header.destination.copy(bytes, 56);
  bytes.writeUInt16BE(header.port, 72);
  bytes.writeUInt16BE(header.sourcePort, 74);
  return bytes;
}

/** The notation of the 16 bytes of an address: decimal for an IPv4-mapped one. */
export function textOf(destination: Buffer): string {
  const value = numberOf(destination);
  return value >> 32n === 0xffffn ? addressText(4, value & 0xffff_ffffn) : addressText(6, value);
}

export interface QueryFrame {
  readonly queryId: bigint;
  readonly cgroupId: bigint;
  readonly sourcePort: number;
  readonly datagram: Buffer;
}

export type WorkerFrame =
  | { readonly type: "answer"; readonly queryId: bigint; readonly datagram: Buffer }
  | { readonly type: "reset"; readonly streamId: bigint };

/** Splits the bytes of a control connection into frames. */
class Frames<Frame> {
  #pending: Buffer = Buffer.alloc(0);
  readonly #parse: (frame: Buffer) => Frame | null;
  readonly #maxBytes: number;

  /** @param parse gets a frame with its length. */
  constructor(parse: (frame: Buffer) => Frame | null, maxBytes: number) {
    this.#parse = parse;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
  }

  /** @returns the next frame; undefined if none is complete; null if it is not valid. */
  next(): Frame | undefined | null {
    if (this.#pending.length < LENGTH_BYTES) return undefined;
    const length = this.#pending.readUInt16BE(0);
    if (length < ANSWER_BYTES || length > this.#maxBytes) return null;
    if (this.#pending.length < LENGTH_BYTES + length) return undefined;
    const frame = this.#pending.subarray(0, LENGTH_BYTES + length);
    this.#pending = this.#pending.subarray(LENGTH_BYTES + length);
    return this.#parse(frame);
  }
}

/** What the worker reads. */
export function queryFrames(): Frames<QueryFrame> {
  return new Frames(parseQuery, QUERY_BYTES + MAX_DATAGRAM_BYTES);
}

function parseQuery(frame: Buffer): QueryFrame | null {
  if (
    frame.length < LENGTH_BYTES + QUERY_BYTES ||
    frame[2] !== FRAME.query ||
    frame[3] !== 0 ||
    frame.readUInt16BE(6) !== 0
  )
    return null;
  return {
    queryId: frame.readBigUInt64BE(8),
    cgroupId: frame.readBigUInt64BE(16),
    sourcePort: frame.readUInt16BE(4),
    datagram: frame.subarray(LENGTH_BYTES + QUERY_BYTES),
  };
}

export function encodeQuery({ queryId, cgroupId, sourcePort, datagram }: QueryFrame): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES + QUERY_BYTES);
  head.writeUInt16BE(QUERY_BYTES + datagram.length, 0);
  head[2] = FRAME.query;
  head.writeUInt16BE(sourcePort, 4);
  head.writeBigUInt64BE(queryId, 8);
  head.writeBigUInt64BE(cgroupId, 16);
  return Buffer.concat([head, datagram]);
}

/** What the relay reads. */
export function workerFrames(): Frames<WorkerFrame> {
  return new Frames(parseWorkerFrame, ANSWER_BYTES + MAX_DATAGRAM_BYTES);
}

function parseWorkerFrame(frame: Buffer): WorkerFrame | null {
  const id = frame.readBigUInt64BE(8);
  const datagram = frame.subarray(LENGTH_BYTES + ANSWER_BYTES);
  if (frame[3] !== 0 || frame.readUInt32BE(4) !== 0) return null;
  if (frame[2] === FRAME.answer) return { type: "answer", queryId: id, datagram };
  return frame[2] === FRAME.reset && datagram.length === 0 ? { type: "reset", streamId: id } : null;
}

export function encodeWorkerFrame(frame: WorkerFrame): Buffer {
  const datagram = frame.type === "answer" ? frame.datagram : Buffer.alloc(0);
  const head = Buffer.alloc(LENGTH_BYTES + ANSWER_BYTES);
  head.writeUInt16BE(ANSWER_BYTES + datagram.length, 0);
  head[2] = FRAME[frame.type];
  head.writeBigUInt64BE(frame.type === "answer" ? frame.queryId : frame.streamId, 8);
  return Buffer.concat([head, datagram]);
}
