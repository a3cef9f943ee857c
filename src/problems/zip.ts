import type { Readable } from "node:stream";
import { type Entry, fromBuffer, type ZipFile } from "yauzl";
import { z } from "zod";
import {
  Collected,
  checkPath,
  isIgnored,
  MAX_PACKAGE_FILES,
  PackageError,
  type PackageFiles,
  TOO_LARGE,
} from "./files.ts";
import { readYaml } from "./yaml.ts";

/** The type of a file in the upper half of its attributes; 0 where the archiver has none. */
const TYPE = 0o170000;
const PLAIN: readonly number[] = [0, 0o100000, 0o040000];
/** Either marks the directory of the package. */
const MARKS = ["problem.yaml", "init.yml"];

/**
 * Reads a package from a ZIP archive. Its files can be in one directory. The inflated bytes are counted, whatever the archive
 * states. @param mostBytes of all files. @throws PackageError
 */
export async function packageFromZip(archive: Buffer, mostBytes?: number): Promise<PackageFiles> {
  const collected = new Collected(mostBytes);
  await unpack(archive, "archive", "", collected);
  return await withArchive(inOneDirectory(collected.files), mostBytes);
}

/** The files of a package, with those of the archive that init.yml names in a directory of its name. @throws PackageError */
export async function withArchive(files: PackageFiles, mostBytes?: number): Promise<PackageFiles> {
  if (files.has("problem.yaml")) return files;
  const init = readYaml(files, "init.yml", z.looseObject({ archive: z.string().optional() }));
  const name = init?.value.archive;
  if (!init || name === undefined) return files;
  const archive = files.get(name);
  if (!archive) throw init.fault(["archive"], `archive: ${name} is not in the package`);
  const collected = new Collected(mostBytes);
  for (const [path, content] of files) if (path !== name) collected.add(path, content);
  await unpack(archive, name, `${name}/`, collected);
  return collected.files;
}

/** Adds the files of an archive, with a directory before their paths. @param name of the archive, for faults. */
async function unpack(archive: Buffer, name: string, directory: string, collected: Collected): Promise<void> {
  const broken = (error: Error) => new PackageError(name, `is not a valid ZIP file: ${error.message}`);
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    const options = { lazyEntries: true, strictFileNames: true, validateEntrySizes: true } as const;
    fromBuffer(archive, options, (error, opened) => (error ? reject(broken(error)) : resolve(opened)));
  });
  if (zip.entryCount > MAX_PACKAGE_FILES)
    throw new PackageError(name, `a package has at most ${MAX_PACKAGE_FILES} files`);
  for await (const entry of entriesOf(zip, broken)) {
    const path = `${directory}${entry.fileName}`;
    checkPath(path.replace(/\/$/, ""));
    if (isIgnored(entry.fileName)) continue;
    if (!PLAIN.includes((entry.externalFileAttributes >>> 16) & TYPE))
      throw new PackageError(path, "is neither a file nor a directory");
    if (!path.endsWith("/")) collected.add(path, await inflate(zip, entry, path, collected.left));
  }
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

/** Stops after one byte more than the file may have. */
async function inflate(zip: ZipFile, entry: Entry, path: string, most: number): Promise<Buffer> {
  if (entry.isEncrypted()) throw new PackageError(path, "is encrypted");
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
    throw new PackageError(path, `cannot be unpacked: ${(error as Error).message}`);
  }
  if (bytes > most) throw new PackageError(path, TOO_LARGE);
  return Buffer.concat(pieces);
}

function inOneDirectory(files: Map<string, Buffer>): PackageFiles {
  const [first = ""] = files.keys();
  const directory = `${first.split("/")[0]}/`;
  if (MARKS.some((mark) => files.has(mark)) || ![...files.keys()].every((path) => path.startsWith(directory)))
    return files;
  return new Map([...files].map(([path, data]) => [path.slice(directory.length), data]));
}
