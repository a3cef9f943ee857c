import { TYPES } from "../dns.ts";

/*
 * The answers of the name server of the fake internet, which belongs to the test: any answer that a hostile one could give.
 */

/** What the name server answers for a name. */
export interface Answers {
  readonly a?: readonly string[];
  /** The addresses as eight groups of hexadecimal digits, without `::`. */
  readonly aaaa?: readonly string[];
  /** The name is an alias, and the addresses are those of the last name. */
  readonly cname?: readonly string[];
  readonly delayMs?: number;
  /** No response at all. */
  readonly isSilent?: boolean;
  readonly rcode?: number;
}

/** By name, or by `*.DOMAIN`. Of several answers, each question of the same type gets the next one, and the last one from then on. */
export type Zone = Readonly<Record<string, Answers | readonly Answers[]>>;

/** Answers one query. @param before the questions so far. */
export function answer(
  zone: Zone,
  query: Buffer,
  before: readonly string[],
): { readonly question: string; readonly response: Buffer | null; readonly delayMs: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join(".").toLowerCase();
  const question = `${name} ${Object.entries(TYPES).find(([, number]) => number === type)?.[0] ?? type}`;
  const found = zone[name] ?? zone[`*.${labels.slice(1).join(".").toLowerCase()}`];
  const all = found === undefined ? [] : [found].flat();
  const answers = all[Math.min(before.filter((one) => one === question).length, all.length - 1)];
  const { cname = [], a = [], aaaa = [], delayMs = 0, isSilent = false, rcode = answers ? 0 : 3 } = answers ?? {};
  if (isSilent) return { question, response: null, delayMs };
  const chain = cname.map((target, index) => record(cname[index - 1] ?? name, TYPES.CNAME, encodeName(target)));
  const last = cname.at(-1) ?? name;
  const addresses = type === TYPES.A ? a.map(bytesOf4) : type === TYPES.AAAA ? aaaa.map(bytesOf6) : [];
  const records = [...chain, ...addresses.map((bytes) => record(last, type, bytes))];
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8580 | rcode, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return { question, response: Buffer.concat([header, query.subarray(12, at + 5), ...records]), delayMs };
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8); // a time to live of 0: nothing may be remembered
  return Buffer.concat([encodeName(name), fixed, data]);
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label, "latin1")]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function bytesOf4(address: string): Buffer {
  return Buffer.from(address.split(".").map(Number));
}

function bytesOf6(address: string): Buffer {
  const bytes = Buffer.alloc(16);
  for (const [at, group] of address.split(":").entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * at);
  return bytes;
}
