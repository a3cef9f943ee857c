/** The directory that relative paths start from. It is also the variable HOME of every program in a sandbox. */
export const SANDBOX_HOME = "/home/user";

/** The longest path, in bytes of UTF-8: PATH_MAX of Linux, which counts the zero byte at the end. */
export const MAX_PATH_BYTES = 4095;

/** The largest page of a directory, in entries. */
export const MAX_LIST_ENTRIES = 1000;

export type FileType = "file" | "directory" | "link" | "other";

/** What a file, directory or link is. */
export interface FileInfo {
  /**
   * Absolute path, as it was asked for: links in it are not resolved. In a list, it is the directory's path and the name. Bytes that
   * are not UTF-8 are replaced by U+FFFD, so that such a file can be seen, but only programs in the sandbox can open it.
   */
  readonly path: string;
  readonly type: FileType;
  /** Bytes of a file's content, 0 for everything else. */
  readonly bytes: number;
  /** Permissions, 0 to 0o7777. */
  readonly mode: number;
  readonly modifiedAtMs: number;
  /** Changes with the content: made of the inode, the size and the time of the last change in ns. Without quotes, [0-9a-f-]+. */
  readonly etag: string;
  /** Where a link leads, as it was written. Only links have it. */
  readonly target?: string;
}

/** Why a request for files failed. */
export const FILE_ERRORS = {
  badPath: "the path is empty, too long, not valid Unicode, or contains a zero byte",
  notFound: "there is no such file or directory",
  notDirectory: "a part of the path is not a directory",
  isDirectory: "this is a directory",
  notRegular: "this is neither a file nor a directory nor a link to one",
  notEmpty: "the directory is not empty",
  exists: "there is a file of this name already",
  permission: "the user of the sandbox may not do this",
  noSpace: "the disk of the sandbox is full",
  tooManyLinks: "the path has too many links",
  otherFileSystem: "the two paths are on different file systems",
  changed: "the file is not the one that the request expects, or changed meanwhile",
  badRange: "the file ends before the range begins",
  badArchive: "the archive cannot be read, or has an entry that may not be unpacked",
  tooDeep: "the directories are nested too deeply",
  tooManyDirectories: "there are too many directories to watch",
  busy: "too many requests for files of this sandbox are under way",
  stopped: "the file program in the sandbox was killed or does not answer",
  failed: "the file system refused this",
} as const;

export type FileErrorCode = keyof typeof FILE_ERRORS;

/** A request for files that failed for a reason in the sandbox, which the client may know. */
export class FileError extends Error {
  readonly code: FileErrorCode;
  /** The path that the failure is about, if it is known. In an archive, the name of the entry. */
  readonly path: string | null;

  /** @param detail the reason, if it says more than the text of the code */
  constructor(code: FileErrorCode, path: string | null, detail: string = FILE_ERRORS[code]) {
    super(path === null ? detail : `${path}: ${detail}`);
    this.name = "FileError";
    this.code = code;
    this.path = path;
  }
}

/** Bytes `from` (0 is the first) up to but without `to`, or to the end of the file; or the `last` bytes of the file. */
export type FileRange = { readonly from: number; readonly to: number | null } | { readonly last: number };

/** What `read` gives: exactly `bytes` bytes from `from` on. */
export interface FileContent {
  readonly info: FileInfo;
  readonly from: number;
  readonly bytes: number;
  /**
   * Must be iterated to its end or returned (`for await` does both), because it occupies a file program until then. Throws FileError
   * `changed` if the file becomes shorter meanwhile.
   */
  readonly body: AsyncIterable<Buffer>;
}

export interface WriteOptions {
  /** Permissions of the file, 0 to 0o777. Without it, those of the file that is replaced, or 0o644. */
  readonly mode?: number;
  /** Only replace a file with this etag; `*`: only replace a file. */
  readonly ifMatch?: string;
  /** Only write if there is no file with this etag; `*`: only if there is no file. */
  readonly ifNoneMatch?: string;
  /** Make the directories that are missing. */
  readonly createParents?: boolean;
}

/**
 * A change below a watched directory. A file that is moved within the directory is `moved`, `path` is its new path and `from` the old
 * one; one that is moved into it is `created`, one that is moved out of it `removed`. After `overflow`, changes are missing: the reader
 * was slower than the sandbox.
 */
export type FileEvent =
  | { readonly type: "created" | "changed" | "removed"; readonly path: string }
  | { readonly type: "moved"; readonly path: string; readonly from: string }
  | { readonly type: "overflow" };

/**
 * The files of a running sandbox, with the rights of its programs. Paths are absolute or relative to SANDBOX_HOME. Every method rejects
 * with a FileError. Where nothing else is said, links are followed.
 */
export interface SandboxFiles {
  /** @param follow whether a link at the end of the path is followed; without it, the answer is about the link itself */
  stat(path: string, follow?: boolean): Promise<FileInfo>;

  /**
   * Entries of a directory in the order of the bytes of their names; `.` and `..` are omitted.
   * @param after the `next` of the previous page, or null for the first page. badPath if it is no such value.
   * @param most entries, 1 to MAX_LIST_ENTRIES. A page can be shorter although `next` is not null.
   */
  list(
    path: string,
    after: string | null,
    most: number,
  ): Promise<{ readonly entries: readonly FileInfo[]; readonly next: string | null }>;

  /** The content of a file, or a part of it. badRange if the file ends before the range begins. */
  read(path: string, range: FileRange | null): Promise<FileContent>;

  /**
   * Replaces or creates a file. It has its new content when this resolves, and its old content before that: nobody sees a part. If
   * `body` throws, the error is passed on and nothing changes. `changed` if ifMatch or ifNoneMatch does not hold.
   * @param body chunks, which this and `unpack` do not use any more when they ask for the next one.
   */
  write(path: string, body: AsyncIterable<Buffer>, options: WriteOptions): Promise<FileInfo>;

  /** Makes a directory and the missing ones above it. Succeeds if it is there already. */
  makeDirectory(path: string): Promise<FileInfo>;

  /** Renames a file, directory or link. A file, or an empty directory, that has the new name is replaced. */
  move(from: string, to: string): Promise<FileInfo>;

  /** Removes a file, link or directory. notEmpty without `recursive`, if there is something in the directory. */
  remove(path: string, recursive: boolean): Promise<void>;

  /**
   * A tar archive (ustar, with pax headers where it needs them) of what is in a directory, or of one file. It stays within the file
   * system of the directory, and omits sockets, pipes and devices. The result must be iterated to its end or returned.
   */
  archive(path: string): Promise<AsyncIterable<Buffer>>;

  /**
   * Unpacks a tar archive into a directory, which is made if it is missing. It keeps the permissions (not set-user-ID and the like) and
   * times of files, and makes links as links. badArchive if an entry has `..` or an absolute path, or is a device; the entries before
   * it remain.
   */
  unpack(path: string, body: AsyncIterable<Buffer>): Promise<{ readonly files: number; readonly bytes: number }>;

  /**
   * Watches a directory, and with `recursive` everything below it. Resolves when every later change will be reported.
   * @param over ends the iteration
   * @returns events until `over` is aborted or the directory is removed. The result must be iterated to its end or returned.
   */
  watch(path: string, recursive: boolean, over: AbortSignal): Promise<AsyncIterable<FileEvent>>;
}
