import type { Readable } from "node:stream";
import { type Entry, fromBuffer, type ZipFile } from "yauzl";
import { Collected, checkPath, MAX_FILE_BYTES, MAX_PACKAGE_FILES, PackageError, type PackageFiles } from "./files.ts";

/** The type of a file in the upper half of its attributes; 0 where the archiver has none. */
const TYPE = 0o170000;
const PLAIN: readonly number[] = [0, 0o100000, 0o040000];
/** Files that archivers of macOS add. */
const OF_MACOS = /^__MACOSX\/|(^|\/)\.DS_Store$/;
/** Either marks the directory of the package. */
const MARKS = ["problem.yaml", "init.yml"];

/**
 * Reads a package from a ZIP archive. Its files can be in one directory. The inflated bytes are counted, whatever the archive
 * states. @param mostBytes of all files. @throws PackageError
 */
export async function packageFromZip(archive: Buffer, mostBytes?: number): Promise<PackageFiles> {
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    const options = { lazyEntries: true, strictFileNames: true, validateEntrySizes: true } as const;
    fromBuffer(archive, options, (error, opened) => (error ? reject(broken(error)) : resolve(opened)));
  });
  if (zip.entryCount > MAX_PACKAGE_FILES)
    throw new PackageError("archive", `a package has at most ${MAX_PACKAGE_FILES} files`);
  const collected = new Collected(mostBytes);
  for await (const entry of entriesOf(zip)) {
    const path = entry.fileName;
    if (OF_MACOS.test(path)) continue;
    checkPath(path.replace(/\/$/, ""));
    if (!PLAIN.includes((entry.externalFileAttributes >>> 16) & TYPE))
      throw new PackageError(path, "is neither a file nor a directory");
    if (!path.endsWith("/")) collected.add(path, await inflate(zip, entry, collected.left));
  }
  return inOneDirectory(collected.files);
}

async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  for (let read = 0; read < zip.entryCount; read++) {
    yield await new Promise<Entry>((resolve, reject) => {
      const fail = (error: Error) => reject(broken(error));
      zip.once("error", fail);
      zip.once("entry", (entry) => {
        zip.removeListener("error", fail);
        resolve(entry);
      });
      zip.readEntry();
    });
  }
}

/** Stops after one byte more than the file may have. */
async function inflate(zip: ZipFile, entry: Entry, most: number): Promise<Buffer> {
  if (entry.isEncrypted()) throw new PackageError(entry.fileName, "is encrypted");
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    const stream = await new Promise<Readable>((resolve, reject) => {
      zip.openReadStream(entry, (error, opened) => (error ? reject(error) : resolve(opened)));
    });
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > most) break;
    }
  } catch (error) {
    throw new PackageError(entry.fileName, `cannot be unpacked: ${(error as Error).message}`);
  }
  if (bytes > most) {
    const reason = most < MAX_FILE_BYTES ? "the package is too large" : `a file has at most ${MAX_FILE_BYTES} bytes`;
    throw new PackageError(entry.fileName, reason);
  }
  return Buffer.concat(pieces);
}

function inOneDirectory(files: Map<string, Buffer>): PackageFiles {
  const [first = ""] = files.keys();
  const directory = `${first.split("/")[0]}/`;
  if (MARKS.some((mark) => files.has(mark)) || ![...files.keys()].every((path) => path.startsWith(directory)))
    return files;
  return new Map([...files].map(([path, data]) => [path.slice(directory.length), data]));
}

function broken(error: Error): PackageError {
  return new PackageError("archive", `is not a valid ZIP file: ${error.message}`);
}
