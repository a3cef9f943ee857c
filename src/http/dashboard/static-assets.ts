import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";

export interface BuiltFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Compressed copies that the build made, in the order in which they are preferred. */
  readonly packed: readonly { readonly encoding: "br" | "gzip"; readonly bytes: Buffer }[];
  /** An entity tag made from the content. */
  readonly tag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

const PACKED = { ".br": "br", ".gz": "gzip" } as const;

/**
 * Reads all files below a directory, by their relative paths, except hidden ones. They have a few hundred kilobytes and stay in memory.
 * @throws if the directory does not exist, or if the type of a file in it is unknown.
 */
export function readBuilt(directory: string): ReadonlyMap<string, BuiltFile> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    // The build produces no links or special files.
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split("/").some((part) => part.startsWith(".")));
  const present = new Set(paths);
  const plain = paths.filter((path) => !(extname(path) in PACKED));
  return new Map(plain.map((path) => [path, readOne(directory, path, present)]));
}

function readOne(directory: string, path: string, present: ReadonlySet<string>): BuiltFile {
  const type = TYPES[extname(path)];
  if (type === undefined) throw new Error(`${directory}: the type of ${path} is unknown`);
  const bytes = readFileSync(join(directory, path));
  const packed = Object.entries(PACKED)
    .filter(([ending]) => present.has(path + ending))
    .map(([ending, encoding]) => ({ encoding, bytes: readFileSync(join(directory, path + ending)) }));
  const tag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  return { type, bytes, packed, tag };
}
