import { constants, type Dirent } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { OperatorError } from "../domain/operator-error.ts";

/** Bounds of a package. */
export const MAX_PACKAGE_BYTES = 1_073_741_824;
export const MAX_PACKAGE_FILES = 20_000;
/** Of an input or an answer: both fit into one request to the launcher. */
export const MAX_CONTENT_BYTES = 4_194_304;
/** Of both, where a program checks outputs: they are in its box with the output and the compiled program. */
const MAX_CHECKED_BYTES = 6_291_456;
const MAX_PATH = 400;
const MAX_DEPTH = 20;

/** The content of a package by path, relative to its directory and with `/`. */
export type PackageFiles = ReadonlyMap<string, Buffer>;

/** A fault of a package, with its place. */
export class PackageError extends OperatorError {
  override readonly name = "PackageError";

  constructor(path: string, message: string, line?: number) {
    super(line === undefined ? `${path}: ${message}` : `${path}:${line}: ${message}`);
  }
}

/** Collects the files of a package within its bounds. */
export class Collected {
  readonly files = new Map<string, Buffer>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MAX_PACKAGE_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes that the next file may have. */
  get left(): number {
    return this.#mostBytes - this.#bytes;
  }

  /** @throws PackageError beyond the bounds, and for a second file with one path. */
  add(path: string, content: Buffer): void {
    this.#bytes += content.length;
    if (this.#bytes > this.#mostBytes || this.files.size === MAX_PACKAGE_FILES)
      throw new PackageError(path, `a package has at most ${MAX_PACKAGE_FILES} files and ${this.#mostBytes} bytes`);
    if (this.files.has(path)) throw new PackageError(path, "is there twice");
    this.files.set(path, content);
  }
}

/**
 * Reads a package. Each directory is opened below the one before, without following links: a directory that is replaced by a
 * link meanwhile does not lead outside. @throws PackageError
 */
export async function packageFromDirectory(directory: string): Promise<PackageFiles> {
  const collected = new Collected();
  const root = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await readBelow(root, "", collected);
  } finally {
    await root.close();
  }
  return collected.files;
}

async function readBelow(directory: FileHandle, below: string, collected: Collected): Promise<void> {
  const at = `/proc/self/fd/${directory.fd}`;
  if (below.split("/").length > MAX_DEPTH) throw new PackageError(below, "is too deep");
  const entries = await readdir(at, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (isIgnored(entry.name)) continue;
    const handle = await openEntry(`${at}/${entry.name}`, path, entry);
    try {
      if (entry.isDirectory()) await readBelow(handle, path, collected);
      else collected.add(path, await readPlain(handle, path, collected.left));
    } finally {
      await handle.close();
    }
  }
}

async function openEntry(full: string, path: string, entry: Dirent): Promise<FileHandle> {
  if (!entry.isDirectory() && !entry.isFile()) throw new PackageError(path, "is neither a file nor a directory");
  // Without O_NONBLOCK, a FIFO would block.
  const kind = entry.isDirectory() ? constants.O_DIRECTORY : constants.O_NONBLOCK;
  return await open(full, constants.O_RDONLY | constants.O_NOFOLLOW | kind).catch((error: NodeJS.ErrnoException) => {
    throw new PackageError(path, `cannot be read: ${error.code}`);
  });
}

/** At most one byte more than a file may have, also if it grows meanwhile. */
async function readPlain(file: FileHandle, path: string, most: number): Promise<Buffer> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new PackageError(path, "is neither a file nor a directory");
  if (stat.size > most) throw new PackageError(path, TOO_LARGE);
  const space = Buffer.allocUnsafeSlow(stat.size + 1);
  let used = 0;
  while (used < space.length) {
    const { bytesRead } = await file.read(space, used, space.length - used, used);
    if (bytesRead === 0) break;
    used += bytesRead;
  }
  if (used > stat.size) throw new PackageError(path, "grows");
  return space.subarray(0, used);
}

export const TOO_LARGE = "the package is too large";

/** Files of tools, such as `.git`: the formats treat them as absent. */
export function isIgnored(path: string): boolean {
  return /(^|\/)[.-]/.test(path);
}

/** An input or an answer. @throws PackageError if a test cannot have it. */
export function contentOf(files: PackageFiles, path: string): Buffer {
  const content = files.get(path);
  if (!content) throw new PackageError(path, "is missing");
  if (content.length > MAX_CONTENT_BYTES)
    throw new PackageError(path, `an input or an answer has at most ${MAX_CONTENT_BYTES} bytes`);
  return content;
}

/** @throws PackageError for a path that is not plain, as in an archive. */
export function checkPath(path: string): void {
  const parts = path.split("/");
  const plain = parts.every((part) => part !== "" && part !== "." && part !== ".." && isPrintable(part));
  if (!plain || path.length > MAX_PATH || parts.length > MAX_DEPTH)
    throw new PackageError(JSON.stringify(path.slice(0, MAX_PATH)), "is not a plain path");
}

function isPrintable(part: string): boolean {
  return part.isWellFormed() && !/[\\\p{Cc}]/u.test(part);
}

/** @throws PackageError for an input and an answer that are too large for a checker that is a program. */
export function checkTogether(path: string, [input, answer]: readonly [Buffer, Buffer]): void {
  if (input.length + answer.length > MAX_CHECKED_BYTES)
    throw new PackageError(path, `with its answer, it has at most ${MAX_CHECKED_BYTES} bytes for a validator`);
}

/** The files below a directory, by their path below it. */
export function filesBelow(files: PackageFiles, directory: string): Map<string, Buffer> {
  const prefix = `${directory}/`;
  return new Map(
    [...files].flatMap(([path, data]) => (path.startsWith(prefix) ? [[path.slice(prefix.length), data]] : [])),
  );
}
