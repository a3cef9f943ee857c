import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../domain/operator-error.ts";

/** Bounds of a package. */
const MAX_BYTES = 1_073_741_824;
const MAX_FILES = 20_000;
/** An input and its answer fit into one request to the launcher. */
const MAX_FILE_BYTES = 4_194_304;

/** The content of a package by path, relative to its directory and with `/`. */
export type PackageFiles = ReadonlyMap<string, Buffer>;

/** A fault of a package, with its place. */
export class PackageError extends OperatorError {
  override readonly name = "PackageError";

  constructor(path: string, message: string, line?: number) {
    super(line === undefined ? `${path}: ${message}` : `${path}:${line}: ${message}`);
  }
}

/** Reads a package. Links are refused: they could lead outside of it. @throws PackageError */
export async function readPackage(directory: string): Promise<PackageFiles> {
  const files = new Map<string, Buffer>();
  let bytes = 0;
  const read = async (below: string): Promise<void> => {
    const entries = await readdir(join(directory, below), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) await read(path);
      else if (entry.isFile()) {
        const content = await readPlain(join(directory, path), path);
        bytes += content.length;
        if (bytes > MAX_BYTES || files.size === MAX_FILES)
          throw new PackageError(path, `a package has at most ${MAX_FILES} files and ${MAX_BYTES} bytes`);
        files.set(path, content);
      } else throw new PackageError(path, "is neither a file nor a directory");
    }
  };
  await read("");
  return files;
}

async function readPlain(full: string, path: string): Promise<Buffer> {
  // A FIFO would block.
  const file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new PackageError(path, `a file has at most ${MAX_FILE_BYTES} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** The files below a directory, by their path below it. */
export function filesBelow(files: PackageFiles, directory: string): Map<string, Buffer> {
  const prefix = `${directory}/`;
  return new Map(
    [...files].flatMap(([path, data]) => (path.startsWith(prefix) ? [[path.slice(prefix.length), data]] : [])),
  );
}
