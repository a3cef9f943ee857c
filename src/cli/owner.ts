import { chownSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Creates the directory of the SQLite database if needed and, as root, permanently becomes its owner. Files that commands of
 * root create therefore belong to the user of the service: a journal of SQLite that belongs to root would lock the service
 * out. New files are readable by their owner only. With PostgreSQL, the directory still determines the user of the service.
 * @param secretKey the key file of webhook secrets. Its directory is created as well if `make` is true.
 * @returns the user id of the process.
 */
export function becomeOwner(dataDir: string, secretKey?: { path: string; make: boolean }): number {
  const directory = join(dataDir, "db");
  process.umask(0o077);
  makeLikeParent(directory);
  if (secretKey?.make) makeLikeParent(dirname(secretKey.path));
  if (process.getuid?.() !== 0) return process.getuid?.() ?? 0;
  const { uid, gid } = statSync(directory);
  if (uid !== 0) {
    process.setgroups?.([gid]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  }
  return uid;
}

/** Creates a directory, which gets the owner of its parent. */
function makeLikeParent(directory: string): void {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (made === undefined || process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(directory));
  chownSync(directory, uid, gid);
}
