import { isUtf8 } from "node:buffer";
import { readSync } from "node:fs";
import { promisify } from "node:util";
import { crc32, inflateRaw, inflateRawSync } from "node:zlib";
import { type Entry, fromBuffer, fromFd, getFileNameLowLevel, validateFileName, type ZipFile } from "yauzl";
import { z } from "zod";
import {
  Collected,
  checkIgnored,
  checkPath,
  fileOf,
  isIgnored,
  LazyFiles,
  PackageError,
  type PackageFiles,
  sizeOf,
  TIME_LIMIT_FILE,
} from "./files.ts";
import { MARKS } from "./find.ts";
import { followLinks } from "./links.ts";
import { readYaml } from "./yaml.ts";

/** The bits of the type of a file, in the upper half of its attributes. They are 0 if the archiver stores no type. */
const TYPE = 0o170000;
const PLAIN: readonly number[] = [0, 0o100000, 0o040000];
const LINK = 0o120000;
/** The most bytes of the text of a link. */
const MAX_TARGET_BYTES = 4_096;

/** A ZIP archive in memory, or an open file of this size. */
export type Archive = Buffer | { readonly fd: number; readonly bytes: number };

/** The paths at which the file with the time limit can be, because the files of an archive can all be in one directory. */
const TIME_LIMIT_PATH = new RegExp(`^(?:[^/.-][^/]*/)?\\${TIME_LIMIT_FILE}$`);

/** The most bytes of an archive in a package, which is held in memory. */
const MAX_INNER_BYTES = 67_108_864;

/**
 * Opens a package in a ZIP archive, whose files can all be in one directory. The sizes that the archive states are bounded here;
 * a file that has another size is a fault when it is read.
 * @param mostBytes the most bytes of all files together.
 * @param admit awaited before any file is unpacked, with the stated bytes of all files. If the package refers to an archive among
 * its files, it is awaited again once the sizes in that archive are known. @throws PackageError
 */
export async function packageFromZip(
  archive: Archive,
  mostBytes?: number,
  admit: (bytes: number) => Promise<void> = async () => {},
): Promise<PackageFiles> {
  const collected = new Collected(mostBytes);
  await collect(archive, "archive", "", collected);
  followLinks(collected);
  const directory = onlyDirectory(collected.files);
  const prefix = directory === null ? "" : `${directory}/`;
  for (const path of collected.ignored) if (path.startsWith(prefix)) checkIgnored(path.slice(prefix.length));
  const files = new Map(
    [...collected.files].flatMap(([whole, file]) => {
      const path = whole.slice(prefix.length);
      return path !== TIME_LIMIT_FILE && TIME_LIMIT_PATH.test(path) ? [] : [[path, file] as const];
    }),
  );
  const packed = new LazyFiles(files, directory);
  await admit(bytesOf(packed));
  const unpacked = await withArchive(packed, mostBytes);
  if (unpacked !== packed) await admit(bytesOf(unpacked));
  return unpacked;
}

/** The signature and the fixed length of the end of a ZIP archive's directory, and those of an entry of the directory. */
const ZIP64_LOCATOR = { signature: 0x07064b50, bytes: 20 };
const END_OF_DIRECTORY = { signature: 0x06054b50, bytes: 22, mostComment: 65_535 };
const DIRECTORY_ENTRY = { signature: 0x02014b50, bytes: 46 };
/** The end of the name of an archive in a package. */
const ARCHIVE_NAME = /\.zip$/i;
/** The most entries whose sizes are added up. */
const MOST_ADDED = 20_000;

/**
 * Adds up the sizes that the directory of an archive states, before anything is checked. The sum is an estimate of the cost of an
 * import.
 * @returns infinity if it is not known, for example because the archive contains another archive or a link.
 */
export function statedBytes(archive: Buffer): number {
  const { signature, bytes, mostComment } = END_OF_DIRECTORY;
  let end = archive.length - bytes;
  while (end >= 0 && archive.length - end <= bytes + mostComment && archive.readUInt32LE(end) !== signature) end--;
  if (end < 0 || archive.length - end > bytes + mostComment) return Number.POSITIVE_INFINITY;
  // Readers prefer the sizes of the format ZIP64, which are elsewhere.
  const locator = end - ZIP64_LOCATOR.bytes;
  if (locator >= 0 && archive.readUInt32LE(locator) === ZIP64_LOCATOR.signature) return Number.POSITIVE_INFINITY;
  const entries = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  let sum = 0;
  for (let n = 0; n < entries; n++) {
    if (n === MOST_ADDED || at + DIRECTORY_ENTRY.bytes > archive.length) return Number.POSITIVE_INFINITY;
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY.signature) return Number.POSITIVE_INFINITY;
    const nameBytes = archive.readUInt16LE(at + 28);
    const name = at + DIRECTORY_ENTRY.bytes;
    const [extra, extraBytes] = [name + nameBytes, archive.readUInt16LE(at + 30)];
    if (ARCHIVE_NAME.test(archive.toString("latin1", extra - 4, extra))) return Number.POSITIVE_INFINITY;
    // An extra field can have another name, in Unicode, which then counts.
    if (/\.zip/i.test(archive.toString("latin1", extra, extra + extraBytes))) return Number.POSITIVE_INFINITY;
    // What a link leads to counts again.
    if (((archive.readUInt32LE(at + 38) >>> 16) & TYPE) === LINK) return Number.POSITIVE_INFINITY;
    sum += archive.readUInt32LE(at + 24);
    at = extra + extraBytes + archive.readUInt16LE(at + 32);
  }
  return sum;
}

function bytesOf(files: PackageFiles): number {
  const sizes = [...files.keys()].map((path) => {
    const file = fileOf(files, path);
    return file && !file.isUnusable ? file.size : 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Unpacks all files of an archive into memory, without the rules for packages. This happens in another thread, because a megabyte
 * of empty blocks takes half a second.
 * @throws PackageError beyond the bounds, and for a path that is not plain.
 */
export async function filesFromZip(
  archive: Buffer,
  { files: most, bytes }: { readonly files: number; readonly bytes: number },
): Promise<ReadonlyMap<string, Buffer>> {
  const members = await collect(archive, "archive", "", new Collected(bytes, most), false);
  const files = new Map<string, Buffer>();
  for (const member of members) files.set(member.path, await unpackInThread(member));
  return files;
}

/**
 * The files of a package. If init.yml names an archive, its files are among them, in a directory with the name of the archive.
 * @throws PackageError
 */
export async function withArchive(files: PackageFiles, mostBytes?: number): Promise<PackageFiles> {
  if (files.has("problem.yaml")) return files;
  const init = readYaml(files, "init.yml", z.looseObject({ archive: z.string().optional() }));
  const name = init?.value.archive;
  if (!init || name === undefined) return files;
  // statedBytes() finds the archive by this name, before anything is unpacked.
  if (!ARCHIVE_NAME.test(name)) throw init.fault(["archive"], `archive: the name of ${name} must end with .zip`);
  const size = sizeOf(files, name);
  if (size === undefined) throw init.fault(["archive"], `archive: ${name} is not in the package`);
  if (size > MAX_INNER_BYTES) throw init.fault(["archive"], `archive: ${name} has more than ${MAX_INNER_BYTES} bytes`);
  const collected = new Collected(mostBytes);
  for (const path of files.keys()) {
    const file = fileOf(files, path);
    if (file && path !== name) collected.add(path, file);
  }
  await collect(files.get(name) as Buffer, name, `${name}/`, collected);
  followLinks(collected);
  return new LazyFiles(collected.files, files.directory);
}

/** A file of an archive. */
interface Member {
  readonly archive: Archive;
  readonly path: string;
  readonly entry: Entry;
  /** The offset of its data in the archive. */
  readonly start: number;
}

/**
 * Adds the files of an archive to `collected`, with `directory` before their paths.
 * @param name name of the archive in faults.
 * @param isPackage whether links and the names of files have the meaning that they have in a package.
 * @returns what was added.
 */
async function collect(
  archive: Archive,
  name: string,
  directory: string,
  collected: Collected,
  isPackage = true,
): Promise<readonly Member[]> {
  const broken = (error: Error) => new PackageError(name, `is not a valid ZIP file: ${error.message}`);
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    const options = { lazyEntries: true, autoClose: false, decodeStrings: false, validateEntrySizes: true } as const;
    const opened = (error: Error | null, zip: ZipFile) => (error ? reject(broken(error)) : resolve(zip));
    if (Buffer.isBuffer(archive)) fromBuffer(archive, options, opened);
    else fromFd(archive.fd, options, opened);
  });
  if (zip.entryCount > collected.mostFiles)
    throw new PackageError(name, `a package has at most ${collected.mostFiles} files`);
  const members: Member[] = [];
  let unread = sizeOfArchive(archive);
  for await (const entry of entriesOf(zip, broken)) {
    const fileName = nameOf(entry, broken);
    const path = `${directory}${fileName}`;
    checkPath(path.replace(/\/$/, ""));
    if (isPackage && isIgnored(fileName) && !TIME_LIMIT_PATH.test(fileName)) {
      collected.ignored.push(path);
      continue;
    }
    const type = (entry.externalFileAttributes >>> 16) & TYPE;
    const isLink = isPackage && type === LINK;
    if (!isLink && !PLAIN.includes(type))
      throw new PackageError(path, `is neither a file${isPackage ? ", a directory nor a link" : " nor a directory"}`);
    if (isLink && path.endsWith("/")) throw new PackageError(path, "is a link with the name of a directory");
    if (path.endsWith("/")) continue;
    const start = await startOf(zip, entry, path, broken);
    // Without this check, a small archive whose entries all refer to the same large file would take minutes.
    unread -= entry.compressedSize;
    if (unread < 0) throw new PackageError(name, "is not a valid ZIP file: its files overlap");
    const member = { archive, path, entry, start };
    if (isLink) {
      // The compressed size counts as well: the text of a link is unpacked before the caller has admitted the archive.
      if (Math.max(entry.uncompressedSize, entry.compressedSize - 64) > MAX_TARGET_BYTES)
        throw new PackageError(path, "is a link that leads to nothing in the package");
      collected.addLink(path, unpack(member).toString());
      continue;
    }
    collected.add(path, { size: entry.uncompressedSize, read: () => unpack(member) });
    members.push(member);
  }
  return members;
}

/** The bit of an entry that says that its name is in UTF-8. */
const IN_UTF8 = 0x0800;
/** The systems that an archiver names in the upper byte of its version, if they are Unix. There, a name can contain a backslash. */
const UNIX_LIKE: readonly number[] = [3, 19];

/**
 * The name of an entry. A name without the bit for UTF-8 is in code page 437, but macOS writes UTF-8 without this bit; a text in code page
 * 437 is hardly ever valid UTF-8. Some archivers of Windows separate the parts of a path by backslashes.
 */
function nameOf(entry: Entry, broken: (error: Error) => PackageError): string {
  const { generalPurposeBitFlag, fileNameRaw, extraFields, versionMadeBy } = entry;
  const flags = isUtf8(fileNameRaw) ? generalPurposeBitFlag | IN_UTF8 : generalPurposeBitFlag;
  const name = getFileNameLowLevel(flags, fileNameRaw, extraFields, UNIX_LIKE.includes(versionMadeBy >>> 8));
  const fault = validateFileName(name);
  if (fault !== null) throw broken(new Error(fault));
  return name;
}

const [STORED, DEFLATED] = [0, 8];

async function startOf(
  zip: ZipFile,
  entry: Entry,
  path: string,
  broken: (error: Error) => PackageError,
): Promise<number> {
  if (entry.isEncrypted()) throw new PackageError(path, "is encrypted");
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED)
    throw new PackageError(path, "cannot be unpacked: its compression is not supported");
  return await new Promise<number>((resolve, reject) => {
    zip.readLocalFileHeader(entry, { minimal: true }, (error, { fileDataStart } = { fileDataStart: 0 }) =>
      error ? reject(broken(error)) : resolve(fileDataStart),
    );
  });
}

function unpack(member: Member): Buffer {
  try {
    const packed = read(member);
    return checked(member, isStored(member) ? packed : inflateRawSync(packed, inflating(member)));
  } catch (error) {
    throw unpackError(member, error);
  }
}

const inflateInThread = promisify<Buffer, ReturnType<typeof inflating>, Buffer>(inflateRaw);

async function unpackInThread(member: Member): Promise<Buffer> {
  try {
    const packed = read(member);
    return checked(member, isStored(member) ? packed : await inflateInThread(packed, inflating(member)));
  } catch (error) {
    throw unpackError(member, error);
  }
}

function isStored({ entry }: Member): boolean {
  return entry.compressionMethod === STORED;
}

function inflating({ entry }: Member) {
  return { maxOutputLength: entry.uncompressedSize + 1 };
}

function checked({ entry }: Member, data: Buffer): Buffer {
  if (data.length !== entry.uncompressedSize || crc32(data) !== entry.crc32)
    throw new Error("its size or checksum is wrong");
  return data;
}

function unpackError({ path }: Member, error: unknown): PackageError {
  return new PackageError(path, `cannot be unpacked: ${(error as Error).message}`);
}

function sizeOfArchive(archive: Archive): number {
  return Buffer.isBuffer(archive) ? archive.length : archive.bytes;
}

/** @returns a copy of the packed data, which is shorter if the archive ends before. */
function read({ archive, start, entry }: Member): Buffer {
  const left = sizeOfArchive(archive) - start;
  const space = Buffer.allocUnsafeSlow(Math.max(0, Math.min(entry.compressedSize, left)));
  if (Buffer.isBuffer(archive)) {
    archive.copy(space, 0, start);
    return space;
  }
  let used = 0;
  for (let got = -1; got !== 0 && used < space.length; used += got)
    got = readSync(archive.fd, space, used, space.length - used, start + used);
  return space.subarray(0, used);
}

async function* entriesOf(zip: ZipFile, broken: (error: Error) => PackageError): AsyncGenerator<Entry> {
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

/** The directory that contains all files; null if there is none, or if the files are a package without it. */
function onlyDirectory(files: ReadonlyMap<string, unknown>): string | null {
  const [first = ""] = files.keys();
  const [directory = ""] = first.split("/");
  const isPackage = MARKS.some((mark) => files.has(mark));
  return isPackage || ![...files.keys()].every((path) => path.startsWith(`${directory}/`)) ? null : directory;
}
