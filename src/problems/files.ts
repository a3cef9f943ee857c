import { MAX_CHECKED_BYTES } from "../domain/check.ts";
import { MAX_CONTENT_BYTES } from "../domain/judgement.ts";
import { OperatorError } from "../domain/operator-error.ts";

/** Bounds of a package. */
export const MAX_PACKAGE_BYTES = 1_073_741_824;
export const MAX_PACKAGE_FILES = 20_000;
const MAX_PATH = 400;
const MAX_DEPTH = 20;

/** The content of a package by path, relative to its directory and with `/`. */
export type PackageFiles = ReadonlyMap<string, Buffer> & {
  /** The name of the directory of the package; null for an archive whose files are not all in one directory. */
  readonly directory?: string | null;
};

/** A file that is read each time its content is needed. */
export interface LazyFile {
  readonly size: number;
  /** @throws PackageError if the file is not as it was when the package was opened. */
  readonly read: () => Buffer;
  /** Set by `unusable`: the size and the content are faults. */
  readonly isUnusable?: true;
}

/**
 * A file that has a path, but cannot be used: whoever asks for its size or its content gets the fault. A package whose tests do not need
 * the file can be read.
 */
export function unusable(fault: UnusableError): LazyFile {
  const fail = (): never => {
    throw fault;
  };
  return {
    get size() {
      return fail();
    },
    read: fail,
    isUnusable: true,
  };
}

/** A fault of a package, with its place. */
export class PackageError extends OperatorError {
  override readonly name = "PackageError";

  /** @param path the file with the fault; empty if the message already names the place. */
  constructor(path: string, message: string, line?: number) {
    const place = line === undefined ? path : `${path}:${line}`;
    super(path === "" ? message : `${place}: ${message}`);
  }
}

/** A part of a package needs a file that cannot be used. */
export class UnusableError extends PackageError {}

/** Collects the files of a package within its bounds. When all are there, followLinks() adds those to which links lead. */
export class Collected {
  readonly files = new Map<string, LazyFile>();
  /** The text of each link by its path. */
  readonly links = new Map<string, string>();
  /** Paths of files and links that are ignored because of their names, also those that a file has because of links. */
  readonly ignored: string[] = [];
  readonly #directories = new Set<string>();
  readonly mostFiles: number;
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MAX_PACKAGE_BYTES, mostFiles = MAX_PACKAGE_FILES) {
    this.#mostBytes = mostBytes;
    this.mostFiles = mostFiles;
  }

  /** @throws PackageError beyond the bounds, and for a path that another file has, as its path or as one of its directories. */
  add(path: string, file: LazyFile): void {
    if (!file.isUnusable) this.#bytes += file.size;
    if (this.#bytes > this.#mostBytes || this.files.size === this.mostFiles)
      throw new PackageError(path, `a package has at most ${this.mostFiles} files and ${this.#mostBytes} bytes`);
    if (this.files.has(path)) throw new PackageError(path, "is in the package twice");
    const above = [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index));
    if (this.#directories.has(path) || above.some((one) => this.files.has(one)))
      throw new PackageError(path, "is both a file and a directory, or is below a file");
    for (const one of above) this.#directories.add(one);
    this.files.set(path, file);
  }

  /** @param target the text of the link. @throws PackageError beyond the bounds. */
  addLink(path: string, target: string): void {
    if (this.links.size === this.mostFiles)
      throw new PackageError(path, `a package has at most ${this.mostFiles} links`);
    if (this.links.has(path)) throw new PackageError(path, "is in the package twice");
    this.links.set(path, target);
  }
}

/** The files of a package, each of which is read when its content is needed. A package of 1 GiB takes only the memory of its paths. */
export class LazyFiles implements PackageFiles {
  readonly #files: ReadonlyMap<string, LazyFile>;
  readonly directory: string | null;

  constructor(files: ReadonlyMap<string, LazyFile>, directory: string | null = null) {
    this.#files = files;
    this.directory = directory;
  }

  fileOf(path: string): LazyFile | undefined {
    return this.#files.get(path);
  }

  get size(): number {
    return this.#files.size;
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  get(path: string): Buffer | undefined {
    return this.#files.get(path)?.read();
  }

  keys(): MapIterator<string> {
    return this.#files.keys();
  }

  *values(): MapIterator<Buffer> {
    for (const [, data] of this) yield data;
  }

  *entries(): MapIterator<[string, Buffer]> {
    for (const [path, file] of this.#files) yield [path, file.read()];
  }

  forEach(callback: (data: Buffer, path: string, files: PackageFiles) => void): void {
    for (const [path, data] of this) callback(data, path, this);
  }

  [Symbol.iterator](): MapIterator<[string, Buffer]> {
    return this.entries();
  }
}

/**
 * A file in the directory of a package that has its time limit, for which the format legacy has no key. Its name begins with a dot, but
 * it is read.
 */
export const TIME_LIMIT_FILE = ".timelimit";

/** Whether a path belongs to a tool, such as `.git`. The formats treat such files as absent. */
export function isIgnored(path: string): boolean {
  return /(^|\/)[.-]/.test(path);
}

/**
 * A test that would be ignored because of its name. Names that begin with `._` come from macOS, and names that begin with `.#`
 * from editors; these are no tests.
 */
const HIDDEN_TEST = /^data\/(?:sample|secret)\/(?:[^/.-][^/]*\/)*(?:[.-](?![_#])[^/]*)?\.(?:in|ans)\s*$/i;

/** A file of a test that would be ignored because of its name, apart from those of file systems and of version control. */
const HIDDEN_FILE =
  /^data\/(?:[^/.-][^/]*\/)*[^/.-][^/]*\.files\/(?:[^/]+\/)*(?:-|\.(?![_#]|(?:DS_Store|gitkeep|gitignore|gitattributes)$))/;

/** @param path of a file that is ignored. @throws PackageError if it would be a test, or a file of one. */
export function checkIgnored(path: string): void {
  if (HIDDEN_FILE.test(path))
    throw new PackageError(path, "would not be read: the name of a file of a test begins with neither a dot nor -");
  if (!HIDDEN_TEST.test(path)) return;
  checkPath(path);
  throw new PackageError(path, "would not be read: the name of a test begins with neither a dot nor -");
}

/** A file, without reading it. Paths that lead to the same file because of links have the same object. */
export function fileOf(files: PackageFiles, path: string): LazyFile | undefined {
  if (files instanceof LazyFiles) return files.fileOf(path);
  const data = files.get(path);
  return data && { size: data.length, read: () => data };
}

/** The size of a file, without reading it. */
export function sizeOf(files: PackageFiles, path: string): number | undefined {
  return fileOf(files, path)?.size;
}

/** An input or an answer of a test. @throws PackageError if the file is missing, or larger than a test permits. */
export function contentOf(files: PackageFiles, path: string): LazyFile {
  const file = fileOf(files, path);
  if (!file) throw new PackageError(path, "is missing");
  if (file.size > MAX_CONTENT_BYTES)
    throw new PackageError(path, `an input or an answer has at most ${MAX_CONTENT_BYTES} bytes`);
  return file;
}

/**
 * @throws PackageError for a path that is too long or too deep, or has an empty part, `.`, `..` or a control character. An archive can
 * contain such paths.
 */
export function checkPath(path: string): void {
  const parts = path.split("/");
  const plain = parts.every((part) => part !== "" && part !== "." && part !== ".." && isPrintable(part));
  if (!plain || path.length > MAX_PATH || parts.length > MAX_DEPTH)
    throw new PackageError(quoted(path.slice(0, MAX_PATH)), "is not a plain path");
}

/** A path as JSON, in which line separators of Unicode are escaped as well. */
function quoted(path: string): string {
  return JSON.stringify(path).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function isPrintable(part: string): boolean {
  return part.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(part);
}

/** @throws PackageError for an input and an answer of these sizes that are too large for a checker that is a program. */
export function checkTogether(path: string, [input, answer]: readonly [input: number, answer: number]): void {
  if (input + answer > MAX_CHECKED_BYTES)
    throw new PackageError(path, `with its answer, it has at most ${MAX_CHECKED_BYTES} bytes for a validator`);
}

/** The files below a directory, by their path below it. */
export function filesBelow(files: PackageFiles, directory: string): PackageFiles {
  const prefix = `${directory}/`;
  const below = [...files.keys()].filter((path) => path.startsWith(prefix));
  return renamed(files, new Map(below.map((path) => [path.slice(prefix.length), path])));
}

/** Files under other paths. @param paths the present paths by the new ones. */
export function renamed(files: PackageFiles, paths: ReadonlyMap<string, string>): PackageFiles {
  const lazy = [...paths].flatMap(([path, old]) => {
    const file = fileOf(files, old);
    return file ? [[path, file] as const] : [];
  });
  return new LazyFiles(new Map(lazy), files.directory);
}
