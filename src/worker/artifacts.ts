import { createHash } from "node:crypto";
import type { StepReport, WorkFile } from "../domain/report.ts";
import type { Step } from "../sandbox/step.ts";

/** What a compile step left: its report, all files of its work directory, and the number of bytes that these files take there. */
export interface Artifact {
  readonly report: StepReport;
  readonly files: readonly WorkFile[];
  readonly keptBytes: number;
}

interface Entry {
  readonly artifact: Artifact;
  readonly digest: string;
  readonly bytes: number;
  checkedAtMs: number;
}

/** Time between two checks of an artifact. A check of 2 MiB takes 1.3 ms. */
const CHECK_MS = 1_000;

/** Estimated size of an entry apart from its files, its output and its key: the rest of the report, and the entries of the maps. */
const ENTRY_BYTES = 4_096;

/** The memory is divided into this many parts, and an account may use at most one part. */
const PARTS = 4;

/** The artifacts of one account, the least recently used one first. */
interface Share {
  readonly entries: Map<string, Entry>;
  bytes: number;
}

/**
 * Keeps compiled programs in memory. Only the account that submitted a source gets its artifact: if artifacts were shared, other
 * accounts could measure, by the time of a compile step, that somebody has submitted the source. For the same reason, an account may
 * use at most one part of the memory. As long as no more accounts have artifacts than there are parts, no account loses an artifact
 * because of another one. If the memory is full, the account with the most memory loses its least recently used artifact, so an account
 * never displaces the artifacts of an account that has less. A restart forgets all artifacts, so no artifact outlives its compiler.
 */
export class Artifacts {
  readonly #capacityBytes: number;
  readonly #partBytes: number;
  readonly #shares = new Map<string, Share>();
  readonly #now: () => number;
  #bytes = 0;

  /** @param parts how many parts the memory has; an account may use one of them. @param now monotonic milliseconds. */
  constructor(capacityBytes: number, { parts = PARTS, now = () => performance.now() } = {}) {
    this.#capacityBytes = capacityBytes;
    this.#partBytes = capacityBytes / parts;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(account: string, key: string): boolean {
    return this.#shares.get(account)?.entries.has(key) === true;
  }

  /**
   * The artifact of the key. Its bytes are checked at most once per second: if they have changed in memory, the artifact is removed.
   */
  get(account: string, key: string): Artifact | undefined {
    const entry = this.#shares.get(account)?.entries.get(key);
    if (!entry) return undefined;
    this.#remove(account, key);
    const now = this.#now();
    if (now - entry.checkedAtMs >= CHECK_MS) {
      if (digestOf(entry.artifact) !== entry.digest) return undefined;
      entry.checkedAtMs = now;
    }
    this.#add(account, key, entry);
    return entry.artifact;
  }

  /**
   * Stores an artifact, unless it is larger than one part of the memory. If there is no space, the account with the most memory loses
   * its least recently used artifacts. If this account would have the most, but has no artifact to lose, nothing is stored.
   */
  put(account: string, key: string, artifact: Artifact): void {
    const bytes = sizeOf(artifact) + key.length;
    if (bytes > this.#partBytes) return;
    this.#remove(account, key);
    const ownBytes = () => (this.#shares.get(account)?.bytes ?? 0) + bytes;
    while (ownBytes() > this.#partBytes) this.#removeOldest(account);
    while (this.#bytes + bytes > this.#capacityBytes) {
      const largest = this.#largest(account, ownBytes());
      if (!this.#shares.has(largest)) return; // this first artifact would displace those of accounts with less memory
      this.#removeOldest(largest);
    }
    this.#add(account, key, { artifact, digest: digestOf(artifact), bytes, checkedAtMs: this.#now() });
  }

  /** The account with the most memory. @param ownBytes the memory that `account` will have. */
  #largest(account: string, ownBytes: number): string {
    let [largest, most] = [account, ownBytes];
    for (const [other, { bytes }] of this.#shares)
      if (other !== account && bytes > most) [largest, most] = [other, bytes];
    return largest;
  }

  #add(account: string, key: string, entry: Entry): void {
    const share = this.#shares.get(account) ?? { entries: new Map(), bytes: 0 };
    this.#shares.set(account, share);
    share.entries.set(key, entry);
    share.bytes += entry.bytes;
    this.#bytes += entry.bytes;
  }

  #removeOldest(account: string): void {
    const [oldest] = this.#shares.get(account)?.entries.keys() ?? [];
    if (oldest !== undefined) this.#remove(account, oldest);
  }

  #remove(account: string, key: string): void {
    const share = this.#shares.get(account);
    const bytes = share?.entries.get(key)?.bytes;
    if (!share || bytes === undefined) return;
    share.entries.delete(key);
    share.bytes -= bytes;
    this.#bytes -= bytes;
    if (share.entries.size === 0) this.#shares.delete(account);
  }
}

/** Texts of objects that many steps share: the contents of files, the command and the limits of a language. */
const texts = new WeakMap<object, string>();

function once<T extends object>(value: T, toText: (value: T) => string): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = toText(value);
  texts.set(value, text);
  return text;
}

const hashOf = (data: Buffer) => createHash("sha256").update(data).digest("base64");
const json = (value: object) => JSON.stringify(value);

/** Identifies everything that determines the result of the compile step. */
export function artifactKey(language: string, { command, limits, files }: Step): string {
  const contents = files.flatMap(({ name, data }) => [JSON.stringify(name), once(data, hashOf)]);
  return [json([language]), once(command, json), once(limits, json), ...contents].join("\n");
}

function digestOf({ files }: Artifact): string {
  const hash = createHash("sha256");
  for (const { name, data, mode } of files) hash.update(`${name}\0${mode}\0${data.length}\0`).update(data);
  return hash.digest("base64");
}

function sizeOf({ report, files }: Artifact): number {
  const output = report.stdout.length + report.stderr.length;
  return files.reduce((sum, { data }) => sum + data.length, ENTRY_BYTES + output);
}
