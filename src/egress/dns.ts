import { isHostName } from "../domain/egress/host.ts";
import type { NameAddresses } from "./names.ts";

/*
 * Answers the DNS queries of a sandbox from its policy, without asking any server. A query is what a hostile program wrote: any bytes are answered or
 * dropped with bounded work, and nothing is ever thrown.
 *
 * A name that is not allowed does not exist (NXDOMAIN): then all usual resolvers fail at once, whereas they ask again or try other servers after REFUSED
 * or SERVFAIL. A client with EDNS also gets the reason in words (RFC 8914). A and AAAA of an allowed name have one record. All other types have none; in
 * particular HTTPS and SVCB, so that clients use neither QUIC nor encrypted names.
 *
 * This is a small codec of its own, because the packages for it return names as texts, from which the question cannot be repeated byte for byte, make objects
 * of all records of a hostile message, and do not know the reasons of RFC 8914.
 */

/** The longest query that is read. */
export const MAX_QUERY_BYTES = 4_096;
/** The longest response: more than 1232 bytes need fragments in some networks, and no response here needs as many. */
export const MAX_RESPONSE_BYTES = 1_232;
const LEAST_RESPONSE_BYTES = 512;

const TTL_SECS = 60;
/** How long it is remembered that a name does not exist. The policy of a sandbox can be replaced. */
const NEGATIVE_TTL_SECS = 5;

const HEADER_BYTES = 12;
const MAX_NAME_BYTES = 255;
const MAX_LABEL_BYTES = 63;
const TYPE = { A: 1, SOA: 6, AAAA: 28, OPT: 41 } as const;
const CLASS_IN = 1;
const RCODE = { ok: 0, format: 1, noName: 3, notImplemented: 4, refused: 5, badVersion: 16 } as const;
const QR = 0x8000;
const OPCODE = 0x7800;
const RD = 0x0100;
const RA = 0x0080;
/** The option of EDNS with an extended error, and the error "blocked": a policy that the client has not asked for. */
const EXTENDED_ERROR = 15;
const BLOCKED = 15;
const MAX_REASON_BYTES = 200;

/** @param name canonical. */
export type LookUp = (name: string) => NameAddresses | { readonly refused: string };

/** What became of a query. `name` is printable. `invalid`: the message asks for no name. */
export type DnsOutcome =
  | { readonly kind: "answered"; readonly name: string }
  | { readonly kind: "refused"; readonly name: string; readonly reason: string }
  | { readonly kind: "invalid" };

export interface DnsResponse {
  /** Null if the message cannot be answered. */
  readonly response: Buffer | null;
  readonly outcome: DnsOutcome;
}

interface Edns {
  readonly version: number;
  readonly payloadBytes: number;
}

/** Answers one query. Never throws. */
export function answerQuery(query: Buffer, lookUp: LookUp): DnsResponse {
  // Without an identifier there is nothing to answer to, and answering a response could go on for ever.
  if (query.length < HEADER_BYTES || query.length > MAX_QUERY_BYTES || (query.readUInt16BE(2) & QR) !== 0)
    return invalid(null);
  if ((query.readUInt16BE(2) & OPCODE) !== 0) return invalid(respond(query, { rcode: RCODE.notImplemented }));
  const parsed = parse(query);
  if (!parsed) return invalid(respond(query, { rcode: RCODE.format }));
  const { labels, type, cls, questionEnd: end, edns } = parsed;
  const common = { question: query.subarray(HEADER_BYTES, end), edns };
  if (edns && edns.version !== 0) return invalid(respond(query, { ...common, rcode: RCODE.badVersion }));
  if (cls !== CLASS_IN) return invalid(respond(query, { ...common, rcode: RCODE.refused }));
  const name = labels.map(printable).join(".");
  const found = isHostName(name)
    ? lookUp(name)
    : { refused: `${name === "" ? "the root" : name} is not the name of a host` };
  if ("refused" in found) {
    const response = respond(query, { ...common, rcode: RCODE.noName, isNegative: true, reason: found.refused });
    return { response, outcome: { kind: "refused", name, reason: found.refused } };
  }
  const data = type === TYPE.A ? found.v4 : type === TYPE.AAAA ? found.v6 : null;
  const content = data ? { answer: record(POINTER_TO_QUESTION, type, TTL_SECS, data) } : { isNegative: true };
  return { response: respond(query, { ...common, rcode: RCODE.ok, ...content }), outcome: { kind: "answered", name } };
}

function invalid(response: Buffer | null): DnsResponse {
  return { response, outcome: { kind: "invalid" } };
}

/** @returns null if the message is not exactly one question, and EDNS or nothing. */
function parse(query: Buffer) {
  const [questions, answers, authorities, additional] = [4, 6, 8, 10].map((at) => query.readUInt16BE(at));
  if (questions !== 1 || answers !== 0 || authorities !== 0 || (additional ?? 0) > 1) return null;
  const labels: Buffer[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = query[at];
    if (length === undefined || length > MAX_LABEL_BYTES) return null; // a question has nothing before it to which it could point
    at++;
    if (length === 0) break;
    labels.push(query.subarray(at, at + length));
    at += length;
    if (at - HEADER_BYTES >= MAX_NAME_BYTES) return null;
  }
  const questionEnd = at + 4;
  if (questionEnd > query.length) return null;
  const question = { labels, type: query.readUInt16BE(at), cls: query.readUInt16BE(at + 2), questionEnd };
  if (additional === 0) return questionEnd === query.length ? { ...question, edns: null } : null;
  const edns = parseEdns(query.subarray(questionEnd));
  return edns && { ...question, edns };
}

/** @param rest a record, which must be the last one, and EDNS. Its options are not read. */
function parseEdns(rest: Buffer): Edns | null {
  const fixedBytes = 11;
  if (rest.length < fixedBytes || rest[0] !== 0 || rest.readUInt16BE(1) !== TYPE.OPT) return null;
  if (rest.readUInt16BE(9) !== rest.length - fixedBytes) return null;
  return { payloadBytes: rest.readUInt16BE(3), version: rest[6] ?? 0 };
}

/**
 * A label in lower case; `\ddd` for each byte that is not a character of names, as in zone files. So a dot within a label is no dot of the
 * name.
 */
function printable(label: Buffer): string {
  return label
    .toString("latin1")
    .toLowerCase()
    .replace(/[^a-z0-9_*-]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, "0")}`);
}

interface Content {
  readonly rcode: number;
  readonly question?: Buffer;
  readonly answer?: Buffer;
  readonly isNegative?: boolean;
  readonly edns?: Edns | null;
  readonly reason?: string;
}

function respond(query: Buffer, { rcode, question, answer, isNegative = false, edns = null, reason }: Content): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(QR | (query.readUInt16BE(2) & (OPCODE | RD)) | RA | (rcode & 0xf), 2);
  const parts = [header, question, answer, isNegative ? SOA : undefined].filter((part) => part !== undefined);
  for (const [at, part] of [
    [4, question],
    [6, answer],
    [8, isNegative || undefined],
  ] as const)
    header.writeUInt16BE(part === undefined ? 0 : 1, at);
  if (edns) {
    header.writeUInt16BE(1, 10);
    const most = Math.min(Math.max(edns.payloadBytes, LEAST_RESPONSE_BYTES), MAX_RESPONSE_BYTES);
    const used = parts.reduce((bytes, part) => bytes + part.length, 0);
    const explained = ednsRecord(rcode, reason);
    parts.push(used + explained.length <= most ? explained : ednsRecord(rcode, undefined));
  }
  return Buffer.concat(parts);
}

const POINTER_TO_QUESTION = [0xc0, HEADER_BYTES];
const ROOT = [0];

function record(name: readonly number[], type: number, ttlSecs: number, data: readonly number[]): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(CLASS_IN, 2);
  fixed.writeUInt32BE(ttlSecs, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([Buffer.from(name), fixed, Buffer.from(data)]);
}

/** The zone of all names, which says how long a negative response may be remembered: two names, and five numbers. */
const SOA = record(ROOT, TYPE.SOA, NEGATIVE_TTL_SECS, [
  ...ROOT,
  ...ROOT,
  ...[1, TTL_SECS, TTL_SECS, TTL_SECS, NEGATIVE_TTL_SECS].flatMap((value) => [0, 0, 0, value]),
]);

function ednsRecord(rcode: number, reason: string | undefined): Buffer {
  const text = Buffer.from(reason ?? "", "latin1").subarray(0, MAX_REASON_BYTES); // a reason is ASCII
  const options = reason === undefined ? [] : [0, EXTENDED_ERROR, 0, 2 + text.length, 0, BLOCKED, ...text];
  const opt = record(ROOT, TYPE.OPT, 0, options);
  opt.writeUInt16BE(MAX_RESPONSE_BYTES, 3);
  opt[5] = rcode >> 4;
  return opt;
}

/** The bytes of a TCP connection as DNS messages: each follows its length in two bytes. */
export class DnsStream {
  #pending: Buffer = Buffer.alloc(0);

  /** @returns the next complete message; undefined if it is not complete; null if the stream is not DNS. */
  next(): Buffer | undefined | null {
    if (this.#pending.length < 2) return undefined;
    const length = this.#pending.readUInt16BE(0);
    if (length < HEADER_BYTES || length > MAX_QUERY_BYTES) return null;
    if (this.#pending.length < 2 + length) return undefined;
    const message = this.#pending.subarray(2, 2 + length);
    this.#pending = this.#pending.subarray(2 + length);
    return message;
  }

  /** @param chunk is added to what `next` has not returned yet. */
  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
  }
}

/** A response for a TCP connection. */
export function framed(response: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(response.length, 0);
  return Buffer.concat([length, response]);
}
