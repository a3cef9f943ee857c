import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { ConfigError } from "../config.ts";
import { decodeHarness, encodeHarness } from "../domain/harness.ts";
import type { Importable, OpenImport } from "../problems/import.ts";
import type { ThreadImport } from "../problems/import-in-thread.ts";
import { decodeProgram, encodeProgram } from "../store/submissions/rows.ts";

/*
 * The stream in which a package goes from the process that can read the operator's files to the process that runs as the user of
 * the service. It is one line of JSON, then each content once, in the order of the tests. Neither process holds more than one
 * content in memory.
 */

const MAX_HEAD_BYTES = 16 * 1_048_576;

export async function writeImport({ importable, read }: OpenImport, to: Writable): Promise<void> {
  const write = async (piece: string | Buffer) => {
    if (!to.write(piece)) await once(to, "drain");
  };
  const checker = importable.checker && encodeProgram(importable.checker).toString("base64");
  const grader = importable.grader && encodeProgram(importable.grader).toString("base64");
  const harness = importable.harness && encodeHarness(importable.harness);
  await write(`${JSON.stringify({ ...importable, checker, grader, harness })}\n`);
  const written = new Set<string>();
  for (const [test, parts] of importable.contents.entries())
    for (const [place, { hash }] of parts.entries()) {
      if (!written.has(hash)) await write(read(test, place));
      written.add(hash);
    }
}

interface ReadImport extends ThreadImport {
  /** Skips the contents that were not needed, so that the other process can end. */
  readonly end: () => Promise<void>;
}

/** @returns undefined for an empty stream: the other process has reported the reason. */
export async function readImport(from: Readable): Promise<ReadImport | undefined> {
  const bytes = new Bytes(from);
  const line = await bytes.line();
  if (line === undefined) return undefined;
  type Head = Importable & Readonly<Record<"checker" | "grader" | "harness", string | null>>;
  const head = JSON.parse(line) as Head;
  const importable = {
    ...head,
    checker: head.checker === null ? null : decodeProgram(Buffer.from(head.checker, "base64")),
    grader: head.grader === null ? null : decodeProgram(Buffer.from(head.grader, "base64")),
    harness: head.harness === null ? null : decodeHarness(head.harness),
  };
  let next = 0;
  const sizeOf = new Map(importable.contents.flat().map(({ hash, bytes }) => [hash, bytes]));
  const sizes = [...sizeOf.values()];
  const placeOf = new Map([...sizeOf.keys()].map((hash, at) => [hash, at]));
  const skipTo = async (wanted: number) => {
    while (next < wanted) await bytes.take(sizes[next++] ?? 0);
  };
  return {
    importable,
    end: () => skipTo(sizes.length),
    async read(test, place) {
      const wanted = placeOf.get(importable.contents[test]?.[place]?.hash ?? "") ?? sizes.length;
      if (wanted < next)
        throw new ConfigError("the tests were deleted while they were stored: import the package again");
      await skipTo(wanted);
      return await bytes.take(sizes[next++] ?? 0);
    },
  };
}

/** Reads a line, and then given numbers of bytes, from a stream. */
class Bytes {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(from: Readable) {
    this.#pieces = from[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async take(bytes: number): Promise<Buffer> {
    const whole = Buffer.allocUnsafeSlow(bytes);
    let used = 0;
    while (used < bytes) {
      if (this.#rest.length === 0 && !(await this.#more())) throw cutOff();
      const copied = this.#rest.copy(whole, used);
      used += copied;
      this.#rest = this.#rest.subarray(copied);
    }
    return whole;
  }

  async line(): Promise<string | undefined> {
    let text = Buffer.alloc(0);
    while (await this.#more()) {
      const end = this.#rest.indexOf("\n");
      text = Buffer.concat([text, end < 0 ? this.#rest : this.#rest.subarray(0, end)]);
      if (text.length > MAX_HEAD_BYTES) throw cutOff();
      if (end < 0) continue;
      this.#rest = this.#rest.subarray(end + 1);
      return text.toString("utf8");
    }
    if (text.length > 0) throw cutOff();
    return undefined;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#pieces.next();
    if (!done) this.#rest = value;
    return !done;
  }
}

function cutOff(): ConfigError {
  return new ConfigError("the package is cut off");
}
