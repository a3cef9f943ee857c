import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../domain/operator-error.ts";

/** Bounds of a package. */
const MAX_BYTES = 1_073_741_824;
const MAX_FILES = 20_000;

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
        const content = await readPlain(join(directory, path));
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

async function readPlain(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
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
