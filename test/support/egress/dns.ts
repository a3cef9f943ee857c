/** DNS messages for tests, written independently of what they test. */

export const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  SVCB: 64,
  HTTPS: 65,
  AXFR: 252,
  ANY: 255,
} as const;

export interface QueryOptions {
  readonly id?: number;
  readonly flags?: number;
  readonly cls?: number;
  /** The size of responses that the client takes; without it, the query has no EDNS. */
  readonly ednsBytes?: number;
  readonly ednsVersion?: number;
}

export function dnsQuery(name: string, type: number, options: QueryOptions = {}): Buffer {
  const { id = 0x1234, flags = 0x0100, cls = 1, ednsBytes, ednsVersion = 0 } = options;
  const labels = name === "" ? [] : name.split(".");
  const header = Buffer.alloc(12);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(ednsBytes === undefined ? 0 : 1, 10);
  const question = Buffer.concat([
    ...labels.map((label) =>
      Buffer.concat([Buffer.of(Buffer.byteLength(label, "latin1")), Buffer.from(label, "latin1")]),
    ),
    Buffer.of(0, type >> 8, type & 255, cls >> 8, cls & 255),
  ]);
  const edns =
    ednsBytes === undefined
      ? []
      : [Buffer.of(0, 0, TYPES.OPT, ednsBytes >> 8, ednsBytes & 255, 0, ednsVersion, 0, 0, 0, 0)];
  return Buffer.concat([header, question, ...edns]);
}

export interface DnsRecord {
  readonly name: string;
  readonly type: number;
  readonly cls: number;
  readonly ttl: number;
  readonly data: Buffer;
}

export interface DnsMessage {
  readonly id: number;
  readonly flags: number;
  readonly rcode: number;
  readonly question: { readonly name: string; readonly type: number; readonly cls: number } | null;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additional: readonly DnsRecord[];
  /** The extended error of RFC 8914. */
  readonly error: { readonly code: number; readonly text: string } | null;
}

/** Reads a whole message. @throws if it is not valid, or has further bytes. */
export function dnsMessage(bytes: Buffer): DnsMessage {
  let at = 12;
  const number = (length: number) => {
    at += length;
    return bytes.readUIntBE(at - length, length);
  };
  const name = (): string => {
    const labels: string[] = [];
    let back: number | null = null;
    for (;;) {
      const length = number(1);
      if (length === 0) break;
      if (length >= 0xc0) {
        const target = ((length & 0x3f) << 8) | number(1);
        back ??= at;
        if (target >= at - 2) throw new Error("a pointer does not point back");
        at = target;
        continue;
      }
      labels.push(bytes.toString("latin1", at, at + length));
      at += length;
    }
    if (back !== null) at = back;
    return labels.join(".");
  };
  const [questions, ...counts] = [4, 6, 8, 10].map((offset) => bytes.readUInt16BE(offset));
  const question = questions === 0 ? null : { name: name(), type: number(2), cls: number(2) };
  const [answers = [], authorities = [], additional = []] = counts.map((count) =>
    Array.from({ length: count }, (): DnsRecord => {
      const record = { name: name(), type: number(2), cls: number(2), ttl: number(4) };
      const length = number(2);
      if (at + length > bytes.length) throw new Error("a record is not complete");
      const data = bytes.subarray(at, at + length);
      at += length;
      return { ...record, data };
    }),
  );
  if (at !== bytes.length) throw new Error(`${bytes.length - at} further bytes`);
  const edns = additional.find(({ type }) => type === TYPES.OPT);
  const flags = bytes.readUInt16BE(2);
  const option = edns && edns.data.length > 0 ? edns.data : null;
  return {
    id: bytes.readUInt16BE(0),
    flags,
    rcode: (flags & 15) | (((edns?.ttl ?? 0) >>> 24) << 4),
    question,
    answers,
    authorities,
    additional,
    error: option && { code: option.readUInt16BE(4), text: option.toString("latin1", 6, 4 + option.readUInt16BE(2)) },
  };
}
