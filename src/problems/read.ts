import { readFile, stat } from "node:fs/promises";
import { MAX_PACKAGE_BYTES, PackageError, type PackageFiles, packageFromDirectory } from "./files.ts";
import { packageFromZip, withArchive } from "./zip.ts";

/** Reads a package from a directory or a ZIP file. @throws PackageError */
export async function readPackage(path: string): Promise<PackageFiles> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new PackageError(path, `cannot be read: ${error.code}`);
  });
  if (found.isDirectory()) return await withArchive(await packageFromDirectory(path));
  if (!found.isFile()) throw new PackageError(path, "is neither a directory nor a ZIP file");
  if (found.size > MAX_PACKAGE_BYTES) throw new PackageError(path, `has more than ${MAX_PACKAGE_BYTES} bytes`);
  return await packageFromZip(await readFile(path));
}
