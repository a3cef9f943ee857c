import { closeSync, constants, type Dirent, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { OperatorError } from "../domain/operator-error.ts";

/** Bounds of a package. */
export const MAX_PACKAGE_BYTES = 1_073_741_824;
export const MAX_PACKAGE_FILES = 20_000;
/** An input and its answer fit into one request to the launcher. */
export const MAX_FILE_BYTES = 4_194_304;
const MAX_PATH = 400;
const MAX_DEPTH = 20;

/** The content of a package by path, relative to its directory and with `/`. */
export type PackageFiles = ReadonlyMap<string, Buffer> & { readonly directory?: string | null };

/** A fault of a package, with its place. */
export class PackageError extends OperatorError {
  override readonly name = "PackageError";

  /** @param path empty for a message that has its place. */
  constructor(path: string, message: string, line?: number) {
    const place = line === undefined ? path : `${path}:${line}`;
    super(path === "" ? message : `${place}: ${message}`);
  }
}

/** Counts the files of a package within its bounds. @template Place where the content of a file is. */
export class Collected<Place> {
  readonly places = new Map<string, Place>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MAX_PACKAGE_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** @throws PackageError beyond the bounds, and for a second file with one path. */
  add(path: string, size: number, place: Place): void {
    if (size > MAX_FILE_BYTES) throw new PackageError(path, `a file has at most ${MAX_FILE_BYTES} bytes`);
    this.#bytes += size;
    if (this.#bytes > this.#mostBytes || this.places.size === MAX_PACKAGE_FILES)
      throw new PackageError(path, `a package has at most ${MAX_PACKAGE_FILES} files and ${this.#mostBytes} bytes`);
    if (this.places.has(path)) throw new PackageError(path, "is there twice");
    this.places.set(path, place);
  }
}

/** Files that are read each time they are asked for: a package of 1 GiB takes only the memory of its paths. */
export class LazyFiles<Place> implements PackageFiles {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #read: (place: Place, path: string) => Buffer;

  /** The name of the directory of the package; null if an archive has none. */
  readonly directory: string | null;

  constructor(
    places: ReadonlyMap<string, Place>,
    read: (place: Place, path: string) => Buffer,
    directory: string | null = null,
  ) {
    this.#places = places;
    this.#read = read;
    this.directory = directory;
  }

  get size(): number {
    return this.#places.size;
  }

  has(path: string): boolean {
    return this.#places.has(path);
  }

  /** @throws PackageError if the file is not as it was when the package was opened. */
  get(path: string): Buffer | undefined {
    const place = this.#places.get(path);
    return place === undefined ? undefined : this.#read(place, path);
  }

  keys(): MapIterator<string> {
    return this.#places.keys();
  }

  *values(): MapIterator<Buffer> {
    for (const [, data] of this) yield data;
  }

  *entries(): MapIterator<[string, Buffer]> {
    for (const [path, place] of this.#places) yield [path, this.#read(place, path)];
  }

  forEach(callback: (data: Buffer, path: string, files: PackageFiles) => void): void {
    for (const [path, data] of this) callback(data, path, this);
  }

  [Symbol.iterator](): MapIterator<[string, Buffer]> {
    return this.entries();
  }
}

/**
 * Opens a package. Each directory is opened below the one before, without following links: a directory that is replaced by a
 * link meanwhile does not lead outside. @throws PackageError
 */
export async function packageFromDirectory(directory: string): Promise<PackageFiles> {
  const collected = new Collected<number>();
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  const root = await open(directory, flags);
  const { ino, dev } = await root.stat();
  try {
    await readBelow(root, "", collected);
  } finally {
    await root.close();
  }
  const read = (size: number, path: string) => {
    const fd = openSync(directory, flags);
    try {
      const found = fstatSync(fd);
      if (found.ino !== ino || found.dev !== dev) throw new PackageError(path, "is in another directory than before");
      return readFrom(fd, path.split("/"), path, size);
    } finally {
      closeSync(fd);
    }
  };
  return new LazyFiles(collected.places, read, basename(resolve(directory)));
}

async function readBelow(directory: FileHandle, below: string, collected: Collected<number>): Promise<void> {
  const at = `/proc/self/fd/${directory.fd}`;
  if (below.split("/").length > MAX_DEPTH) throw new PackageError(below, "is too deep");
  const entries = await readdir(at, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    const handle = await openEntry(`${at}/${entry.name}`, path, entry);
    try {
      if (entry.isDirectory()) await readBelow(handle, path, collected);
      else {
        const stat = await handle.stat();
        if (!stat.isFile()) throw new PackageError(path, "is neither a file nor a directory");
        collected.add(path, stat.size, stat.size);
      }
    } finally {
      await handle.close();
    }
  }
}

async function openEntry(full: string, path: string, entry: Dirent): Promise<FileHandle> {
  if (!entry.isDirectory() && !entry.isFile()) throw new PackageError(path, "is neither a file nor a directory");
  const kind = entry.isDirectory() ? constants.O_DIRECTORY : constants.O_NONBLOCK;
  return await open(full, PLAIN | kind).catch((error: NodeJS.ErrnoException) => {
    throw new PackageError(path, `cannot be read: ${error.code}`);
  });
}

/** Without O_NONBLOCK, a FIFO would block. */
const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Reads a file below a directory, part by part of its path. @throws PackageError if it has another size. */
function readFrom(directory: number, [name = "", ...below]: readonly string[], path: string, size: number): Buffer {
  let fd: number;
  try {
    const kind = below.length > 0 ? constants.O_DIRECTORY : constants.O_NONBLOCK;
    fd = openSync(`/proc/self/fd/${directory}/${name}`, PLAIN | kind);
  } catch (error) {
    throw new PackageError(path, `cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    if (below.length > 0) return readFrom(fd, below, path, size);
    if (!fstatSync(fd).isFile()) throw new PackageError(path, "is neither a file nor a directory");
    const space = Buffer.allocUnsafeSlow(size + 1);
    let used = 0;
    for (let got = -1; got !== 0 && used < space.length; used += got)
      got = readSync(fd, space, used, space.length - used, used);
    if (used !== size) throw new PackageError(path, "has changed while it was read");
    return space.subarray(0, used);
  } finally {
    closeSync(fd);
  }
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

/** The files below a directory, by their path below it. */
export function filesBelow(files: PackageFiles, directory: string): PackageFiles {
  const prefix = `${directory}/`;
  const below = [...files.keys()].filter((path) => path.startsWith(prefix));
  return renamed(files, new Map(below.map((path) => [path.slice(prefix.length), path])));
}

/** @param paths by new path. */
export function renamed(files: PackageFiles, paths: ReadonlyMap<string, string>): PackageFiles {
  return new LazyFiles(paths, (path) => files.get(path) as Buffer);
}
