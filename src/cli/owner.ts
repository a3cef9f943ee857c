import { chownSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Makes the directory of the embedded database if need be and, when run as root, becomes its owner.
 * So files that root's key commands touch always belong to the service: SQLite makes the
 * journal beside the database, and one that belongs to root would lock the service out.
 * What it makes from here on is for its user alone.
 * With a database elsewhere the directory still says who the service is.
 * The change is for good: this process does not need root again.
 * @param secretKey its directory is made too, if this program is to make the key.
 * @returns the user id that the process has now.
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

/** A new directory belongs to whoever owns the one it is in. */
function makeLikeParent(directory: string): void {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (made === undefined || process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(directory));
  chownSync(directory, uid, gid);
}
