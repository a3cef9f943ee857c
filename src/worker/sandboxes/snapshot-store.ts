import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SandboxRefused } from "../../domain/sandboxes/sandbox.ts";

/** What is hashed and written at once. */
const BLOCK_BYTES = 1_048_576;
/** After so many bytes, the disk begins to write them, while more of them come. */
const FLUSHED_BYTES = 16 * BLOCK_BYTES;
const NAME = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const WRITING = ".writing";

/** What identifies the content of an archive, on any machine. */
export interface Archive {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Takes the next bytes of an archive, which the caller may change when it has resolved. */
export type TakeBytes = (bytes: Buffer) => void | Promise<void>;

/**
 * The archives of snapshots on the disk of this machine: one file for each, in a directory that only this user can enter. An archive
 * appears when it is written, flushed to the disk, and read back. What a process that was killed has left does not have the name of an archive.
 */
export class SnapshotStore {
  /** Names this directory in the database. It stays when the service is started again. */
  readonly id: string;
  readonly #directory: string;

  private constructor(directory: string, id: string) {
    this.#directory = directory;
    this.id = id;
  }

  /** Opens the directory, which is made if it is missing. @throws if it cannot be used. */
  static async open(directory: string): Promise<SnapshotStore> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = join(directory, "id");
    const draft = `${file}.${randomUUID()}`;
    try {
      await writeFile(draft, randomUUID(), { mode: 0o600, flush: true });
      // Of two processes that begin at the same time, one is the first.
      await link(draft, file).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
    } finally {
      await rm(draft, { force: true });
    }
    await flushDirectory(directory);
    const id = await readFile(file, "utf8");
    if (!NAME.test(id)) throw new Error(`${file} has no id`);
    return new SnapshotStore(directory, id);
  }

  /**
   * Writes an archive. If this throws, there is none.
   * @param fill gives all of its bytes, in order, to the function that it gets.
   * @param admit is asked before bytes are written. @throws what it throws
   */
  async write(
    id: string,
    fill: (take: TakeBytes) => Promise<void>,
    admit: (bytes: number) => void = () => {},
  ): Promise<Archive> {
    const draft = this.#path(id) + WRITING;
    const file = await open(draft, "wx", 0o600);
    try {
      const written = await this.#fill(file, fill, admit).finally(() => file.close());
      const found = await digest(draft);
      if (found.bytes !== written.bytes || found.sha256 !== written.sha256)
        throw new Error(`the disk did not keep what was written: ${draft}`);
      await rename(draft, this.#path(id));
      await flushDirectory(this.#directory);
      return written;
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  /**
   * Reads an archive, in blocks that are valid until the next one is asked for. A removal meanwhile changes nothing. The last bytes come only if the content
   * is the expected one.
   * @throws SandboxRefused, while it is read: snapshotNotFound if there is no archive, snapshotDamaged if it is another one.
   */
  read(id: string, expected: Archive): AsyncGenerator<Buffer, void, undefined> {
    return checked(this.#path(id), expected);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
    await rm(this.#path(id) + WRITING, { force: true });
  }

  /** The ids of all archives, and of those that are being written or were not finished. */
  async list(): Promise<string[]> {
    const names = (await readdir(this.#directory)).map((name) => name.replace(/\.writing$/, ""));
    return [...new Set(names)].filter((name) => NAME.test(name));
  }

  #path(id: string): string {
    if (!NAME.test(id)) throw new Error("the id of a snapshot is a UUID");
    return join(this.#directory, id);
  }

  async #fill(
    file: FileHandle,
    fill: (take: TakeBytes) => Promise<void>,
    admit: (bytes: number) => void,
  ): Promise<Archive> {
    const hash = createHash("sha256");
    let bytes = 0;
    const blocks = [Buffer.allocUnsafeSlow(BLOCK_BYTES), Buffer.allocUnsafeSlow(BLOCK_BYTES)] as const;
    let [at, used] = [0, 0];
    let writing: Promise<unknown> = Promise.resolve();
    let flushing: Promise<unknown> = Promise.resolve();
    let begun = 0;
    // One block is written while the other one is filled.
    const flush = async () => {
      const block = (blocks[at % 2] as Buffer).subarray(0, used);
      admit(block.length);
      hash.update(block);
      bytes += block.length;
      await writing;
      writing = writeAll(file, block);
      writing.catch(() => {}); // it is awaited next
      if (bytes >= begun + FLUSHED_BYTES) {
        begun = bytes;
        flushing = Promise.all([flushing, writing.then(() => file.datasync())]);
        flushing.catch(() => {}); // it is awaited at the end
      }
      at++;
      used = 0;
    };
    await fill(async (piece) => {
      for (let from = 0; from < piece.length; ) {
        const copied = piece.copy(blocks[at % 2] as Buffer, used, from);
        used += copied;
        from += copied;
        if (used === BLOCK_BYTES) await flush();
      }
    });
    if (used > 0) await flush();
    await writing;
    await flushing; // an error of the disk is reported once
    await file.sync();
    return { bytes, sha256: hash.digest("hex") };
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  await handle.sync().finally(() => handle.close());
}

async function digest(path: string): Promise<Archive> {
  const file = await open(path, "r");
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const block of blocksOf(file)) {
    hash.update(block);
    bytes += block.length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

/**
 * Reads a file, one block while the other one is used, and closes it. A block is valid until the next one is asked for: all of them are in the same memory,
 * because memory for each costs collections of garbage that take longer than to read it.
 */
async function* blocksOf(file: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  const blocks = [Buffer.allocUnsafeSlow(BLOCK_BYTES), Buffer.allocUnsafeSlow(BLOCK_BYTES)] as const;
  const read = (at: number) => {
    const reading = file.read(blocks[at % 2] as Buffer, 0, BLOCK_BYTES);
    reading.catch(() => {}); // it is awaited later
    return reading;
  };
  let reading = read(0);
  try {
    for (let at = 0; ; at++) {
      const { bytesRead } = await reading;
      if (bytesRead === 0) return;
      reading = read(at + 1);
      yield (blocks[at % 2] as Buffer).subarray(0, bytesRead);
    }
  } finally {
    await reading.catch(() => {});
    await file.close();
  }
}

async function* checked(path: string, expected: Archive): AsyncGenerator<Buffer, void, undefined> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOENT" ? new SandboxRefused("snapshotNotFound") : error;
  });
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const block of blocksOf(file)) {
    hash.update(block);
    bytes += block.length;
    if (bytes > expected.bytes) break;
    const isLast = bytes === expected.bytes;
    if (isLast && hash.copy().digest("hex") !== expected.sha256) break;
    yield block;
    if (isLast) return;
  }
  throw new SandboxRefused("snapshotDamaged");
}
