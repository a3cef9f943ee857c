import { closeSync, constants, type Dirent, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open, readdir, readlink } from "node:fs/promises";
import { basename, resolve } from "node:path";
import {
  Collected,
  checkIgnored,
  checkPath,
  isIgnored,
  LazyFiles,
  PackageError,
  type PackageFiles,
  TIME_LIMIT_FILE,
} from "./files.ts";
import { followLinks } from "./links.ts";

/**
 * Opens the package in a directory. Each directory is opened below its parent, without following links: a directory that is
 * replaced by a link meanwhile does not lead outside. What a link leads to is found among the files of the package (links.ts).
 * @throws PackageError
 */
export async function packageFromDirectory(directory: string): Promise<PackageFiles> {
  const collected = new Collected();
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  const root = await open(directory, flags).catch((error) => {
    throw unreadable(directory, error);
  });
  const { ino, dev } = await root.stat();
  const read = (size: number, path: string) => {
    const fd = openRoot(directory, flags);
    try {
      const found = fstatSync(fd);
      if (found.ino !== ino || found.dev !== dev) throw new PackageError(path, "is in another directory than before");
      return readFrom(fd, path.split("/"), path, size);
    } finally {
      closeSync(fd);
    }
  };
  try {
    await readBelow(root, "", collected, read);
  } finally {
    await root.close();
  }
  followLinks(collected);
  for (const path of collected.ignored) checkIgnored(path);
  return new LazyFiles(collected.files, basename(resolve(directory)));
}

function openRoot(directory: string, flags: number): number {
  try {
    return openSync(directory, flags);
  } catch (error) {
    throw unreadable(directory, error as NodeJS.ErrnoException);
  }
}

async function readBelow(
  directory: FileHandle,
  below: string,
  collected: Collected,
  read: (size: number, path: string) => Buffer,
): Promise<void> {
  const at = `/proc/self/fd/${directory.fd}`;
  const entries = await readdir(at, { withFileTypes: true }).catch((error) => {
    throw unreadable(below, error);
  });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (isIgnored(entry.name) && !(path === TIME_LIMIT_FILE && !entry.isDirectory())) {
      if (entry.isFile() || entry.isSymbolicLink()) collected.ignored.push(path);
      continue;
    }
    checkPath(path);
    if (entry.isSymbolicLink()) {
      collected.addLink(path, await targetIn(`${at}/${entry.name}`, path));
      continue;
    }
    const handle = await openEntry(`${at}/${entry.name}`, path, entry);
    try {
      if (entry.isDirectory()) await readBelow(handle, path, collected, read);
      else {
        const stat = await handle.stat();
        const { size } = stat;
        if (!stat.isFile()) throw new PackageError(path, "is neither a file, a directory nor a link");
        collected.add(path, { size, read: () => read(size, path) });
      }
    } finally {
      await handle.close();
    }
  }
}

async function openEntry(full: string, path: string, entry: Dirent): Promise<FileHandle> {
  if (!entry.isDirectory() && !entry.isFile())
    throw new PackageError(path, "is neither a file, a directory nor a link");
  const kind = entry.isDirectory() ? constants.O_DIRECTORY : constants.O_NONBLOCK;
  return await open(full, PLAIN | kind).catch((error) => {
    throw unreadable(path, error);
  });
}

async function targetIn(full: string, path: string): Promise<string> {
  return await readlink(full).catch((error) => {
    throw unreadable(path, error);
  });
}

function unreadable(path: string, { code }: NodeJS.ErrnoException): PackageError {
  return new PackageError(path, `cannot be read: ${code}`);
}

/** Without O_NONBLOCK, a FIFO would block. */
const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW;

/**
 * Reads a file below an open directory. Each part of its path is opened below the one before. @throws PackageError if the file
 * cannot be read, or does not have this size.
 */
function readFrom(directory: number, [name = "", ...below]: readonly string[], path: string, size: number): Buffer {
  let fd: number;
  try {
    const kind = below.length > 0 ? constants.O_DIRECTORY : constants.O_NONBLOCK;
    fd = openSync(`/proc/self/fd/${directory}/${name}`, PLAIN | kind);
  } catch (error) {
    throw unreadable(path, error as NodeJS.ErrnoException);
  }
  try {
    if (below.length > 0) return readFrom(fd, below, path, size);
    if (!fstatSync(fd).isFile()) throw new PackageError(path, "is no file");
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
