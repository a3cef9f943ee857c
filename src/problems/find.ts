import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PackageError } from "./files.ts";

/** A file with one of these names marks the directory of a package. */
export const MARKS = ["problem.yaml", "init.yml", "problem.xml", "task.yaml"];
/** How deep a directory is searched for packages, and how many it can contain. */
const MAX_DEPTH = 6;
const MAX_PACKAGES = 10_000;

/**
 * Finds the packages in a directory, which are directories with one of the `MARKS`, and ZIP files outside them. Links are not followed.
 * A directory that cannot be read counts as a package, so that the reason is reported.
 * @returns their paths in order; null if the path itself is a package. @throws PackageError if there is none.
 */
export async function findPackages(path: string): Promise<string[] | null> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory || isPackage(path)) return null;
  const found: string[] = [];
  await findBelow(path, MAX_DEPTH, found);
  if (found.length === 0) throw new PackageError(path, `has neither ${MARKS.join(" nor ")}, and contains no package`);
  return found;
}

function isPackage(directory: string): boolean {
  return MARKS.some((mark) => existsSync(join(directory, mark)));
}

async function findBelow(directory: string, depth: number, found: string[]): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => null);
  if (!entries) {
    found.push(directory);
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory() ? isPackage(path) : entry.isFile() && /\.(zip|kpp)$/i.test(entry.name)) found.push(path);
    else if (entry.isDirectory() && depth > 0) await findBelow(path, depth - 1, found);
    if (found.length > MAX_PACKAGES) throw new PackageError(directory, `contains more than ${MAX_PACKAGES} packages`);
  }
}
