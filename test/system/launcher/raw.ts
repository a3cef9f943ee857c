import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { NO_BOUND } from "../../../src/domain/limits.ts";
import { FRAMES, type FrameName, KEYS, type KeyName, UNLIMITED } from "../../../src/sandbox/protocol.ts";
import { LIMIT_ENTRIES } from "../../../src/sandbox/step.ts";
import { Entries, type Frame, FrameReader } from "../../../src/sandbox/wire.ts";

const PATIENCE_MS = 20_000;
const MiB = 1 << 20;

/** A connection to the launcher that sends any bytes, valid or not. */
export class Raw {
  readonly #socket: Socket;
  readonly #frames: Frame[] = [];
  #closed = false;
  #wake: () => void = () => {};

  constructor(path: string) {
    const reader = new FrameReader();
    this.#socket = connect({ path, allowHalfOpen: true });
    this.#socket.on("data", (chunk: Buffer) => {
      // A copy: the reader's frames share the chunk's memory.
      for (const { name, body } of reader.push(chunk)) this.#frames.push({ name, body: Buffer.from(body) });
      this.#wake();
    });
    this.#socket.on("error", () => {}); // "close" follows
    this.#socket.on("end", () => this.#socket.end());
    this.#socket.on("close", () => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** The next frame, or null if the connection is closed. */
  async next(): Promise<Frame | null> {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    while (this.#frames.length === 0 && !this.#closed) {
      deadline.throwIfAborted();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 100);
      });
    }
    return this.#frames.shift() ?? null;
  }

  /** The entries of the next frame. @throws if it has another name. */
  async expect(name: FrameName): Promise<Entries> {
    const frame = await this.next();
    if (frame?.name !== name) throw new Error(`expected ${name}, got ${frame ? describe(frame) : "the end"}`);
    return new Entries(frame);
  }

  /** Skips output up to the first frame of this name. @returns its entries, and the bytes that were skipped. */
  async until(name: FrameName): Promise<{ entries: Entries; stdout: Buffer; stderr: Buffer }> {
    const output = { STDOUT: [] as Buffer[], STDERR: [] as Buffer[] };
    for (;;) {
      const frame = await this.next();
      if (frame?.name === "STDOUT" || frame?.name === "STDERR") output[frame.name].push(frame.body);
      else if (frame?.name === name) {
        const [stdout, stderr] = [Buffer.concat(output.STDOUT), Buffer.concat(output.STDERR)];
        return { entries: new Entries(frame), stdout, stderr };
      } else throw new Error(`expected ${name}, got ${frame ? describe(frame) : "the end"}`);
    }
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Stops reading until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes the sending side only. */
  finish(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }
}

function describe(frame: Frame): string {
  if (frame.name === "STDOUT" || frame.name === "STDERR") return frame.name;
  const entries = new Entries(frame);
  const texts = (["REASON", "OBJECT", "STEP_NAME", "STEP_OBJECT"] as const).map((key) => entries.text(key));
  return `${frame.name} ${texts.join(" ").trim()}`;
}

/** Connects until a slot answers: after a slot has ended, the launcher accepts the next one a moment later. */
export async function connected(path: string): Promise<Raw> {
  for (const deadline = performance.now() + PATIENCE_MS; ; ) {
    const raw = new Raw(path);
    const first = await raw.next();
    if (first?.name === "HELLO") return raw;
    raw.close();
    const full = first?.name === "FAILED" && new Entries(first).text("STEP_NAME") === "slots";
    if (first && !full) throw new Error(`expected HELLO, got ${describe(first)}`);
    if (performance.now() > deadline) throw new Error("no slot answered");
    await sleep(20);
  }
}

export type Entry = readonly [key: KeyName | number, value: Buffer | string | number | bigint];

export function entry(key: KeyName | number, value: Entry[1]): Buffer {
  let data: Buffer;
  if (typeof value === "string") data = Buffer.from(value);
  else if (Buffer.isBuffer(value)) data = value;
  else {
    data = Buffer.alloc(8);
    data.writeBigUInt64LE(BigInt(value));
  }
  const head = Buffer.alloc(5);
  head[0] = typeof key === "number" ? key : KEYS[key].number;
  head.writeUInt32LE(data.length, 1);
  return Buffer.concat([head, data]);
}

export function frame(number: number, body: Buffer, length = body.length): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32LE(length, 0);
  header[4] = number;
  return Buffer.concat([header, body]);
}

/** The largest value of every limit of a step. */
const LARGEST = Object.fromEntries(
  LIMIT_ENTRIES.map(({ name, key }) => [name, key.largest === NO_BOUND ? UNLIMITED : key.largest]),
);

/** A valid STEP as entries: small limits, empty standard input, no files. */
export function step(
  command: readonly string[],
  changed: Partial<Record<KeyName, number | bigint | string>> = {},
): Entry[] {
  const small: Partial<Record<KeyName, number | bigint | string>> = {
    STDIN: "",
    KEEP_WORK: 0,
    MORE: 0,
    WALL_MS: 10_000,
    CPU_MS: 10_000,
    MEMORY_BYTES: 128 * MiB,
    PROCESSES: 32,
    FILE_BYTES: 8 * MiB,
    OPEN_FILES: 64,
    ADDRESS_SPACE_BYTES: UNLIMITED,
    STACK_BYTES: 8 * MiB,
    CPU_RLIMIT_SECS: 11,
    PROCESSES_RLIMIT: 128,
    WORK_BYTES: 16 * MiB,
    WORK_INODES: 256,
    TMP_BYTES: 16 * MiB,
    TMP_INODES: 256,
    STDOUT_BYTES: 64 * 1024,
    STDERR_BYTES: 64 * 1024,
    CPUS: UNLIMITED,
    KERNEL_BYTES: 64 * 1_048_576,
    WALKABLE_BYTES: 64 * 1_048_576,
    COLLECT: 0,
    KEEP_FILES: 0,
    SAMPLE_MS: 10,
    LIVE_STDIN: 0,
  };
  const numbers = { ...small, ...LARGEST, ...small, ...changed }; // `small` first, so that the order is always the same
  return [
    ...command.map((arg) => ["ARG", arg] as const),
    ["ENV", "PATH=/usr/local/bin:/usr/bin:/bin"],
    ...(Object.entries(numbers) as [KeyName, number | bigint | string][]),
  ];
}

export function stepFrame(entries: readonly Entry[]): Buffer {
  return frame(FRAMES.STEP, Buffer.concat(entries.map(([key, value]) => entry(key, value))));
}

export function parkFrame(entries: readonly Entry[]): Buffer {
  return frame(FRAMES.PARK, Buffer.concat(entries.map(([key, value]) => entry(key, value))));
}

/** Runs one step and reads its output and reports. */
export async function run(
  raw: Raw,
  entries: readonly Entry[],
): Promise<{ ended: Entries; torn: Entries; stdout: string; stderr: string }> {
  raw.send(stepFrame(entries));
  const { entries: ended, stdout, stderr } = await raw.until("ENDED");
  return { ended, torn: await raw.expect("TEARDOWN"), stdout: stdout.toString(), stderr: stderr.toString() };
}
