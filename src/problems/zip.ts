import { readSync } from "node:fs";
import { crc32, inflateRawSync } from "node:zlib";
import { type Entry, fromBuffer, fromFd, type ZipFile } from "yauzl";
import {
  Collected,
  checkPath,
  LazyFiles,
  MAX_FILE_BYTES,
  MAX_PACKAGE_FILES,
  PackageError,
  type PackageFiles,
} from "./files.ts";

/** The type of a file in the upper half of its attributes; 0 where the archiver has none. */
const TYPE = 0o170000;
const PLAIN: readonly number[] = [0, 0o100000, 0o040000];
/** Files that archivers of macOS add. */
const OF_MACOS = /^__MACOSX\/|(^|\/)\.DS_Store$/;
/** Either marks the directory of the package. */
const MARKS = ["problem.yaml", "init.yml"];

/** A ZIP archive in memory, or an open file of this size. */
export type Archive = Buffer | { readonly fd: number; readonly bytes: number };

/** The place of a file in its archive. */
interface Packed {
  readonly start: number;
  readonly bytes: number;
  readonly isDeflated: boolean;
  /** As the archive states. */
  readonly size: number;
  readonly crc32: number;
}

/** For content that deflate makes longer. */
const MAX_PACKED_BYTES = MAX_FILE_BYTES + 65_536;

/**
 * Opens a package in a ZIP archive. Its files can be in one directory. The stated sizes are bounded here; a file that has another
 * size is a fault when it is read. @param mostBytes of all files. @throws PackageError
 */
export async function packageFromZip(archive: Archive, mostBytes?: number): Promise<PackageFiles> {
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    const options = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true } as const;
    const opened = (error: Error | null, zip: ZipFile) => (error ? reject(broken(error)) : resolve(zip));
    if (Buffer.isBuffer(archive)) fromBuffer(archive, options, opened);
    else fromFd(archive.fd, options, opened);
  });
  if (zip.entryCount > MAX_PACKAGE_FILES)
    throw new PackageError("archive", `a package has at most ${MAX_PACKAGE_FILES} files`);
  const collected = new Collected<Packed>(mostBytes);
  for await (const entry of entriesOf(zip)) {
    const path = entry.fileName;
    if (OF_MACOS.test(path)) continue;
    checkPath(path.replace(/\/$/, ""));
    if (!PLAIN.includes((entry.externalFileAttributes >>> 16) & TYPE))
      throw new PackageError(path, "is neither a file nor a directory");
    if (!path.endsWith("/")) collected.add(path, entry.uncompressedSize, await placeOf(zip, entry));
  }
  const directory = onlyDirectory(collected.places);
  const from = directory === null ? 0 : directory.length + 1;
  const places = new Map([...collected.places].map(([path, packed]) => [path.slice(from), packed]));
  return new LazyFiles(places, (packed, path) => unpack(archive, packed, path), directory);
}

async function placeOf(zip: ZipFile, entry: Entry): Promise<Packed> {
  const { fileName: path, compressionMethod: method, compressedSize: bytes, uncompressedSize: size, crc32 } = entry;
  if (entry.isEncrypted()) throw new PackageError(path, "is encrypted");
  if ((method !== STORED && method !== DEFLATED) || bytes > MAX_PACKED_BYTES)
    throw new PackageError(path, "cannot be unpacked: its compression is not supported");
  const start = await new Promise<number>((resolve, reject) => {
    zip.readLocalFileHeader(entry, { minimal: true }, (error, { fileDataStart } = { fileDataStart: 0 }) =>
      error ? reject(broken(error)) : resolve(fileDataStart),
    );
  });
  return { start, bytes, isDeflated: method === DEFLATED, size, crc32 };
}

const [STORED, DEFLATED] = [0, 8];

function unpack(archive: Archive, { start, bytes, isDeflated, size, crc32: stated }: Packed, path: string): Buffer {
  try {
    const packed = read(archive, start, bytes);
    const data = isDeflated ? inflateRawSync(packed, { maxOutputLength: size + 1 }) : packed;
    if (data.length !== size || crc32(data) !== stated) throw new Error("its size or checksum is wrong");
    return data;
  } catch (error) {
    throw new PackageError(path, `cannot be unpacked: ${(error as Error).message}`);
  }
}

/** @returns a copy, fewer bytes at the end of the archive. */
function read(archive: Archive, start: number, bytes: number): Buffer {
  if (Buffer.isBuffer(archive)) return Buffer.from(archive.subarray(start, start + bytes));
  const space = Buffer.allocUnsafeSlow(bytes);
  let used = 0;
  for (let got = -1; got !== 0 && used < bytes; used += got)
    got = readSync(archive.fd, space, used, bytes - used, start + used);
  return space.subarray(0, used);
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

/** The directory that has all files, unless they are a package as they are. */
function onlyDirectory(files: ReadonlyMap<string, unknown>): string | null {
  const [first = ""] = files.keys();
  const [directory = ""] = first.split("/");
  const isPackage = MARKS.some((mark) => files.has(mark));
  return isPackage || ![...files.keys()].every((path) => path.startsWith(`${directory}/`)) ? null : directory;
}

function broken(error: Error): PackageError {
  return new PackageError("archive", `is not a valid ZIP file: ${error.message}`);
}
