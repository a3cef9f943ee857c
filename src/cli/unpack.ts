import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, mkdtemp, readdir, readlink, rename, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { OperatorError } from "../domain/operator-error.ts";

/** Permissions of the owner without which a directory cannot be read. */
const READABLE = 0o700;

/**
 * Unpacks a tar archive, whose content nobody vouches for, into a directory that does not exist or is empty. It is unpacked into a new
 * directory, because an archive can write through links that are already there: also through those of an earlier archive. Links that lead
 * out of the directory and everything but files and directories are left out.
 * @returns the paths that were left out.
 * @throws OperatorError if the directory is not empty, or the archive cannot be unpacked. Then nothing of it remains.
 */
export async function unpack(archive: Readable, to: string): Promise<string[]> {
  const target = resolve(to);
  const entries = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return [];
  });
  if (entries.length > 0) throw new OperatorError(`${to} is not empty; name a directory that does not exist`);
  await mkdir(dirname(target), { recursive: true });
  const fresh = await mkdtemp(join(dirname(target), ".unpacked-"));
  try {
    const options = ["--no-same-owner", "--no-same-permissions", "-xf", "-"];
    const tar = spawn("tar", ["-C", fresh, ...options], { stdio: ["pipe", "inherit", "inherit"] });
    const [[code]] = await Promise.all([once(tar, "close") as Promise<[number | null]>, pipeline(archive, tar.stdin)]);
    if (code !== 0) throw new OperatorError(`tar could not unpack all of ${to}`);
    const left = await leaveOut(fresh);
    await chmod(fresh, 0o777 & ~process.umask());
    await rename(fresh, target);
    return left;
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
}

/** Removes what could reach out of a directory that nobody else writes, and set-user-ID bits. @returns the removed paths, without the root. */
async function leaveOut(root: string): Promise<string[]> {
  const out: string[] = [];
  /** Names of files by their inodes: a file that has more names has one elsewhere. */
  const linked = new Map<bigint, { readonly names: string[]; readonly nlink: bigint }>();
  const directories = [root];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for (const name of await readdir(directory)) {
      const path = join(directory, name);
      const info = await lstat(path, { bigint: true });
      const mode = Number(info.mode) & 0o7777;
      if (info.isSymbolicLink()) {
        if (leadsOut(root, directory, await readlink(path))) out.push(path);
      } else if (info.isDirectory()) {
        const usable = (mode & 0o777) | READABLE;
        if (usable !== mode) await chmod(path, usable);
        directories.push(path);
      } else if (info.isFile()) {
        if (mode > 0o777) await chmod(path, mode & 0o777);
        if (info.nlink > 1n) {
          const known = linked.get(info.ino) ?? { names: [], nlink: info.nlink };
          known.names.push(path);
          linked.set(info.ino, known);
        }
      } else {
        out.push(path);
      }
    }
  }
  for (const { names, nlink } of linked.values()) if (BigInt(names.length) < nlink) out.push(...names);
  for (const path of out) await rm(path);
  return out.map((path) => relative(root, path)).toSorted();
}

/**
 * Whether a link in a directory below the root leads out of the root. The directory is no link, so `..` at the beginning of the text is
 * what it seems; after a name, which can be another link, it may be anything.
 */
function leadsOut(root: string, directory: string, text: string): boolean {
  const path = resolve(directory, text);
  const isInside = path === root || path.startsWith(`${root}/`);
  return isAbsolute(text) || !isInside || /(^|\/)(?!\.{0,2}\/)[^/]+\/(.*\/)?\.\.(\/|$)/.test(text);
}
