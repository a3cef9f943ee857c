import { createHash } from "node:crypto";
import type { StepReport, WorkFile } from "../domain/report.ts";
import type { Submission } from "../domain/submission.ts";
import type { Step } from "../sandbox/step.ts";

/** What a compile step left: its report, all files of its work directory, and the space that they take there. */
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

/** Between two checks of an artifact, of which one with 2 MiB takes 1.3 ms. */
const CHECK_MS = 1_000;

/** An entry without files, output and key: report and the places in the maps. */
const ENTRY_BYTES = 4_096;

/**
 * Compiled programs in memory, the least recently used ones removed first. Only the account that submitted a source gets
 * its artifact: a shared one would tell others by its speed that the source had been submitted. A restart forgets them all,
 * so that none outlives its compiler.
 */
export class Artifacts {
  readonly #capacityBytes: number;
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  #bytes = 0;

  /** @param now monotonic milliseconds. */
  constructor(capacityBytes: number, now = () => performance.now()) {
    this.#capacityBytes = capacityBytes;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The artifact of the key. One whose bytes have changed in memory is removed; this is checked once per second. */
  get(key: string): Artifact | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#remove(key);
    const now = this.#now();
    if (now - entry.checkedAtMs >= CHECK_MS) {
      if (digestOf(entry.artifact) !== entry.digest) return undefined;
      entry.checkedAtMs = now;
    }
    this.#add(key, entry);
    return entry.artifact;
  }

  /** Does nothing if the artifact is larger than all space. */
  put(key: string, artifact: Artifact): void {
    const bytes = sizeOf(artifact) + key.length;
    if (bytes > this.#capacityBytes) return;
    this.#remove(key);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes + bytes <= this.#capacityBytes) break;
      this.#remove(oldest);
    }
    this.#add(key, { artifact, digest: digestOf(artifact), bytes, checkedAtMs: this.#now() });
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

/** Runs of a judgement share the bytes of their program; most programs share command and limits of their language. */
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

/** Identifies everything that determines the result of the compile step, and the account. */
export function artifactKey(
  { accountId, language }: Pick<Submission, "accountId" | "language">,
  { command, limits, files }: Step,
): string {
  const contents = files.flatMap(({ name, data }) => [JSON.stringify(name), once(data, hashOf)]);
  return [json([accountId, language]), once(command, json), once(limits, json), ...contents].join("\n");
}

function digestOf({ files }: Artifact): string {
  const hash = createHash("sha256");
  for (const { name, data } of files) hash.update(`${name}\0${data.length}\0`).update(data);
  return hash.digest("base64");
}

function sizeOf({ report, files }: Artifact): number {
  const output = report.stdout.length + report.stderr.length;
  return files.reduce((sum, { data }) => sum + data.length, ENTRY_BYTES + output);
}
