import { closeSync, fstatSync, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { packageFromDirectory } from "./directory.ts";
import { MAX_PACKAGE_BYTES, PackageError, type PackageFiles } from "./files.ts";
import { packageFromZip, withArchive } from "./zip.ts";

/** The files of a package, which can be read until it is closed. */
export interface OpenPackage {
  readonly files: PackageFiles;
  readonly close: () => void;
}

/** Opens a package from a directory or a ZIP file. @throws PackageError */
export async function readPackage(path: string): Promise<OpenPackage> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new PackageError(path, `cannot be read: ${error.code}`);
  });
  if (found.isDirectory()) return { files: await withArchive(await packageFromDirectory(path)), close: () => {} };
  if (!found.isFile()) throw new PackageError(path, "is neither a directory nor a ZIP file");
  const fd = openSync(path, "r");
  try {
    const { size: bytes } = fstatSync(fd);
    if (bytes > MAX_PACKAGE_BYTES) throw new PackageError(path, `has more than ${MAX_PACKAGE_BYTES} bytes`);
    return { files: await packageFromZip({ fd, bytes }), close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
