import { fstatSync, openSync } from "node:fs";
import { stat } from "node:fs/promises";
import { packageFromDirectory } from "./directory.ts";
import { MAX_PACKAGE_BYTES, PackageError, type PackageFiles } from "./files.ts";
import { packageFromZip, withArchive } from "./zip.ts";

/** Opens a package from a directory or a ZIP file. @throws PackageError */
export async function readPackage(path: string): Promise<PackageFiles> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new PackageError(path, `cannot be read: ${error.code}`);
  });
  if (found.isDirectory()) return await withArchive(await packageFromDirectory(path));
  if (!found.isFile()) throw new PackageError(path, "is neither a directory nor a ZIP file");
  const fd = openSync(path, "r"); // stays open until the command ends, because files are read from it when they are needed
  const { size: bytes } = fstatSync(fd);
  if (bytes > MAX_PACKAGE_BYTES) throw new PackageError(path, `has more than ${MAX_PACKAGE_BYTES} bytes`);
  return await packageFromZip({ fd, bytes });
}
