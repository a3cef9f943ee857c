import {
  FILE_ERRORS,
  type FileContent,
  FileError,
  type FileEvent,
  type FileInfo,
  type FileRange,
  type FileType,
  MAX_LIST_ENTRIES,
  MAX_PATH_BYTES,
  SANDBOX_HOME,
  type SandboxFiles,
  type WriteOptions,
} from "../domain/sandboxes/files.ts";
import {
  type Answer,
  type AnswerType,
  DATA_BYTES,
  type Dialogue,
  FileProgramStopped,
  LONG_BYTES,
  SILENCE_MS,
  u8,
  u32,
  u64,
} from "./dialogue.ts";
import type { StartFileProgram } from "./program.ts";
import { Programs } from "./programs.ts";

/** A program that reports progress without an end is killed after this time. */
const PROGRESS_MS = 10 * 60_000;

/** How long a program has to remove what it wrote when a request is given up. */
const ABORT_MS = 5_000;
/** How often a request is made, if the sandbox is being stopped each time. */
const MOST_TRIES = 100;

/** Watchers get at most so many events per second. Beyond that, the kernel's queue in the sandbox fills, and the watcher gets `overflow`. */
const EVENTS_PER_SECOND = 1_000;

/** The most bytes of names and of targets of links in a page. The program ends a page at half of this. */
const PAGE_BYTES = 512 * 1024;

/** The most reports of progress in a second. The program sends one after thousands of entries. */
const PROGRESS_PER_SECOND = 1_000;

const TYPES: readonly FileType[] = ["file", "directory", "link", "other"];
const EVENTS = ["created", "changed", "removed", "moved", "overflow"] as const;
const ETAG = /^[0-9a-f]{1,16}-[0-9a-f]{1,16}-[0-9a-f]{1,16}$/;
const [NO_MODE, TO_THE_END] = [0xffff_ffff, 0xffff_ffff_ffff_ffffn];
const [WHOLE, FROM, LAST] = [0, 1, 2];

/**
 * The names of files that an upload writes before it renames them (image/files/paths.c), where the kernel has no files without names in the root of a sandbox,
 * as before Linux 6.10. They follow `TEMPORARY_PREFIX` in the order of a list.
 */
const TEMPORARY_PREFIX = ".assay-";
const TEMPORARY = /^\.assay-[0-9a-f]{16}$/;
/** The most of them that are looked for at once. */
const TEMPORARIES = 100;

/** Settings of a FileClient; tests change them. */
export interface FileClientOptions {
  readonly home?: string;
  readonly silenceMs?: number;
  readonly abortMs?: number;
}

/** The files of one sandbox, through file programs that this starts in it. */
export class FileClient implements SandboxFiles {
  readonly #programs: Programs;
  readonly #home: string;
  readonly #abortMs: number;
  /** Uploads under way, and the directories of those whose program was killed, which can have left a file with a temporary name. */
  #uploads = 0;
  readonly #cutOff = new Set<string>();
  /** The removal of these files. No upload begins meanwhile, so that it loses none. */
  #cleaned: Promise<void> = Promise.resolve();

  constructor(
    start: StartFileProgram,
    { home = SANDBOX_HOME, silenceMs = SILENCE_MS, abortMs = ABORT_MS }: FileClientOptions = {},
  ) {
    this.#home = home;
    this.#abortMs = abortMs;
    this.#programs = new Programs(start, silenceMs);
  }

  /** Kills all file programs. Requests that are under way, and later ones, reject. */
  close(): void {
    this.#programs.close();
  }

  /** Ends a file program that waits for a request, because its place is needed. @returns whether there was one. */
  endIdle(): boolean {
    return this.#programs.endIdle();
  }

  async stat(path: string, follow = false): Promise<FileInfo> {
    const asked = this.#path(path);
    return this.#ask(asked, async (dialogue) => {
      await dialogue.send("stat", [u8(follow ? 1 : 0), asked]);
      return readInfo(dialogue, await expect(dialogue, "info"), asked);
    });
  }

  async list(path: string, after: string | null, most: number) {
    const asked = this.#path(path);
    const from = after === null ? Buffer.alloc(0) : decodeCursor(after);
    // Each entry has the path of the directory before its name.
    const fitting = Math.floor(PAGE_BYTES / Buffer.byteLength(asked));
    const wanted = Math.min(Math.max(1, Math.floor(most)), MAX_LIST_ENTRIES, fitting);
    return this.#ask(asked, async (dialogue) => {
      await dialogue.send("list", [u32(wanted), from, asked]);
      const entries: FileInfo[] = [];
      let last = from;
      let bytes = 0;
      for (;;) {
        const answer = await afterProgress(dialogue);
        if (answer.type === "end") {
          const end = dialogue.check(() => readListEnd(answer, last, from));
          return { entries, next: end };
        }
        if (answer.type !== "info" || entries.length === wanted) return broke(dialogue, "it sent too many entries");
        const { info, name } = dialogue.check(() => readEntry(answer, asked, last));
        bytes += name.length + (info.target === undefined ? 0 : Buffer.byteLength(info.target));
        if (bytes > PAGE_BYTES) return broke(dialogue, "it sent too long names");
        entries.push(info);
        last = name;
      }
    });
  }

  async read(path: string, range: FileRange | null): Promise<FileContent> {
    const asked = this.#path(path);
    if (range !== null && !isRange(range)) throw new FileError("badRange", display(asked));
    const [kind, from, to] =
      range === null
        ? [WHOLE, 0, 0]
        : "last" in range
          ? [LAST, range.last, 0]
          : [FROM, range.from, range.to ?? TO_THE_END];
    return this.#stream(asked, async (dialogue) => {
      await dialogue.send("read", [u8(kind as number), u64(from), u64(to), asked]);
      const info = readInfo(dialogue, await expect(dialogue, "info"), asked);
      const answer = await expect(dialogue, "range");
      const [first, bytes] = dialogue.check(() => {
        const found = [answer.fields.large(), answer.fields.large()] as const;
        answer.fields.end();
        return found;
      });
      return { info, from: first, bytes, body: this.#content(dialogue, asked, bytes) };
    });
  }

  async write(path: string, body: AsyncIterable<Buffer>, options: WriteOptions): Promise<FileInfo> {
    const asked = this.#path(path);
    const { mode, ifMatch = "", ifNoneMatch = "", createParents = false } = options;
    if (ifMatch !== "" && ifMatch !== "*" && !ETAG.test(ifMatch)) throw new FileError("changed", display(asked));
    let hasBegun = false;
    const request = async (dialogue: Dialogue) => {
      await dialogue.send("write", [
        u32(mode === undefined ? NO_MODE : mode & 0o777),
        u8(createParents ? 1 : 0),
        ifMatch,
        // No file has an etag of another form, so that such a condition always holds.
        ifNoneMatch === "*" || ETAG.test(ifNoneMatch) ? ifNoneMatch : "",
        asked,
      ]);
      await expect(dialogue, "go");
      hasBegun = true;
      return readInfo(dialogue, await this.#upload(dialogue, body, "info"), asked);
    };
    await this.#cleaned;
    this.#uploads++;
    try {
      return await this.#ask(asked, request);
    } catch (error) {
      if (hasBegun && error instanceof FileProgramStopped) this.#cutOff.add(asked.slice(0, asked.lastIndexOf("/") + 1));
      throw error;
    } finally {
      if (--this.#uploads === 0 && this.#cutOff.size > 0) await this.#clean();
    }
  }

  /** Removes what uploads have left whose program was killed, for example because the sandbox had no memory left, of which such a file is a part. */
  #clean(): Promise<void> {
    const directories = [...this.#cutOff];
    this.#cutOff.clear();
    const remove = async (directory: string) => {
      const first = Buffer.from(TEMPORARY_PREFIX).toString("base64url");
      for (const { path } of (await this.list(directory, first, TEMPORARIES)).entries) {
        if (!TEMPORARY.test(path.slice(path.lastIndexOf("/") + 1))) return;
        await this.remove(path, false);
      }
    };
    // The sandbox may have ended, or its programs may have removed the directory.
    this.#cleaned = Promise.allSettled(directories.map(remove)).then(() => {});
    return this.#cleaned;
  }

  async makeDirectory(path: string): Promise<FileInfo> {
    const asked = this.#path(path);
    return this.#ask(asked, async (dialogue) => {
      await dialogue.send("make", [asked]);
      return readInfo(dialogue, await expect(dialogue, "info"), asked);
    });
  }

  async move(from: string, to: string): Promise<FileInfo> {
    const [old, asked] = [this.#path(from), this.#path(to)];
    return this.#ask(null, async (dialogue) => {
      await dialogue.send("move", [old, asked]);
      return readInfo(dialogue, await expect(dialogue, "info"), asked);
    });
  }

  async remove(path: string, recursive: boolean): Promise<void> {
    const asked = this.#path(path);
    await this.#ask(asked, async (dialogue) => {
      await dialogue.send("remove", [u8(recursive ? 1 : 0), asked]);
      await expect(dialogue, "end");
    });
  }

  async archive(path: string): Promise<AsyncIterable<Buffer>> {
    const asked = this.#path(path);
    return this.#stream(null, async (dialogue) => {
      await dialogue.send("archive", [asked]);
      await expect(dialogue, "go");
      return this.#content(dialogue, null, null);
    });
  }

  async unpack(path: string, body: AsyncIterable<Buffer>): Promise<{ readonly files: number; readonly bytes: number }> {
    const asked = this.#path(path);
    return this.#ask(null, async (dialogue) => {
      await dialogue.send("unpack", [asked]);
      await expect(dialogue, "go");
      const answer = await this.#upload(dialogue, body, "counts");
      return dialogue.check(() => readCounts(answer));
    });
  }

  /**
   * Reads what a snapshot contains, while nothing else runs in the sandbox. If `take` throws, the program leaves all files as they were.
   * @param take gets the archive in order. The bytes are valid only until it has returned or resolved.
   */
  async save(
    take: (bytes: Buffer) => void | Promise<void>,
  ): Promise<{ readonly files: number; readonly bytes: number }> {
    return this.#ask(null, async (dialogue) => {
      await dialogue.send("save");
      await expect(dialogue, "go");
      for (let wasShort = false; ; ) {
        const answer = await dialogue.next(false);
        if (answer.type === "counts") return dialogue.check(() => readCounts(answer));
        const isShort = answer.length < LONG_BYTES;
        if (answer.type !== "data" || (isShort && wasShort)) return broke(dialogue, "it sent content of a wrong size");
        wasShort = isShort;
        for (let left = answer.length; left > 0; ) {
          const part = await dialogue.content(left);
          left -= part.length;
          try {
            await take(part);
          } catch (error) {
            await this.#abandon(dialogue, left);
            throw new GivenUp(error);
          }
        }
      }
    });
  }

  /** Replaces the files of a new sandbox by those that `save` has read in another one. */
  async restore(body: AsyncIterable<Buffer>): Promise<{ readonly files: number; readonly bytes: number }> {
    return this.#ask(null, async (dialogue) => {
      await dialogue.send("restore");
      await expect(dialogue, "go");
      const answer = await this.#upload(dialogue, body, "counts");
      return dialogue.check(() => readCounts(answer));
    });
  }

  async watch(path: string, recursive: boolean, over: AbortSignal): Promise<AsyncIterable<FileEvent>> {
    const asked = this.#path(path);
    const dialogue = await this.#programs.startWatcher();
    const stop = () => dialogue.kill();
    over.addEventListener("abort", stop, { once: true });
    const leave = () => {
      over.removeEventListener("abort", stop);
      this.#programs.endWatcher(dialogue);
    };
    try {
      if (over.aborted) stop();
      await dialogue.send("watch", [u8(recursive ? 1 : 0), asked]);
      await expect(dialogue, "go");
      return new Stream(events(dialogue, display(asked), over), leave);
    } catch (error) {
      leave();
      throw named(error, asked);
    }
  }

  #path(path: string): string {
    if (path === "" || !path.isWellFormed() || path.includes("\0")) throw new FileError("badPath", null);
    const absolute = path.startsWith("/") ? path : `${this.#home}/${path}`;
    if (Buffer.byteLength(absolute) > MAX_PATH_BYTES) throw new FileError("badPath", null);
    return absolute;
  }

  /** Makes a request whose answer is complete when `talk` resolves. */
  #ask<T>(asked: string | null, talk: (dialogue: Dialogue) => Promise<T>): Promise<T> {
    return this.#attempt(async (dialogue) => {
      try {
        return await talk(dialogue);
      } catch (error) {
        // After a failure that the program reports, and after an abort, it waits for the next request.
        if (error instanceof GivenUp) throw error.cause;
        if (!(error instanceof FileError)) dialogue.kill();
        throw named(error, asked);
      } finally {
        this.#programs.give(dialogue);
      }
    });
  }

  /** Makes a request whose answer is read after `talk` has resolved. */
  #stream<T>(asked: string | null, talk: (dialogue: Dialogue) => Promise<T>): Promise<T> {
    return this.#attempt(async (dialogue) => {
      try {
        return await talk(dialogue);
      } catch (error) {
        if (!(error instanceof FileError)) dialogue.kill();
        this.#programs.give(dialogue);
        throw named(error, asked);
      }
    });
  }

  /**
   * Makes a request to a program, and again to another one if that has never begun: then nothing of the request has happened, and nothing of its body was
   * read, because the program asks for that.
   */
  async #attempt<T>(request: (dialogue: Dialogue) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const dialogue = await this.#programs.take();
      try {
        return await request(dialogue);
      } catch (error) {
        if (tries === MOST_TRIES || !(await dialogue.wasRefused())) throw error;
      }
    }
  }

  /** Content of which `bytes` bytes come, or, with null, as many as the program sends. */
  #content(dialogue: Dialogue, asked: string | null, bytes: number | null): AsyncIterable<Buffer> {
    return new Stream(content(dialogue, asked, bytes), (isComplete) => {
      if (!isComplete) dialogue.kill();
      this.#programs.give(dialogue);
    });
  }

  /** Sends content until the program fails or there is no more. @returns its answer */
  async #upload(dialogue: Dialogue, body: AsyncIterable<Buffer>, type: AnswerType): Promise<Answer> {
    const sent = Promise.withResolvers<void>();
    let wake = () => {};
    let failed = false;
    // From now on, because a program that fails says so at once. Nobody sends content to it then.
    const answer = dialogue.next(true, sent.promise);
    answer.catch(() => {
      failed = true;
      wake();
    });
    const chunks = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await new Promise<IteratorResult<Buffer, unknown>>((resolve, reject) => {
          wake = () => resolve({ done: true, value: undefined });
          if (failed) wake();
          else chunks.next().then(resolve, reject);
        });
        if (done || failed) break;
        await dialogue.sendContent(value);
      }
    } catch (error) {
      await this.#abort(dialogue, sent.resolve, answer);
      throw new GivenUp(error);
    }
    if (failed) {
      // Not awaited: the client may be slow.
      chunks.return?.().catch(() => {});
      if (!dialogue.isOver) await this.#abort(dialogue, sent.resolve, null);
      await answer;
    }
    await dialogue.endContent();
    sent.resolve();
    const end = await answer;
    if (end.type !== type) return broke(dialogue, "it sent another answer than the expected one");
    return end;
  }

  /** Tells a program that sends content to stop, and reads what it has sent until then. If this fails, it is killed. @param left of a frame */
  async #abandon(dialogue: Dialogue, left: number): Promise<void> {
    const timer = setTimeout(() => dialogue.kill(), this.#abortMs);
    try {
      await dialogue.send("abort");
      for (let bytes = left; ; ) {
        while (bytes > 0) bytes -= (await dialogue.content(bytes)).length;
        const { type, length } = await dialogue.next(false);
        if (type === "end") return;
        if (type !== "data") return broke(dialogue, "it did not stop");
        bytes = length;
      }
    } catch {
      dialogue.kill();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets the program remove what it has of an unfinished request. If this fails, the program is killed. */
  async #abort(dialogue: Dialogue, sent: () => void, answer: Promise<Answer> | null): Promise<void> {
    const timer = setTimeout(() => dialogue.kill(), this.#abortMs);
    try {
      await dialogue.send("abort");
      sent();
      // A failure that the program has just sent comes before the end.
      let end = await answer?.catch(() => null);
      end ??= dialogue.isOver ? null : await dialogue.next(false);
      if (end?.type !== "end") dialogue.kill();
    } catch {
      dialogue.kill();
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The error of a body, after which the program was told to remove what it had written. */
class GivenUp extends Error {
  constructor(cause: unknown) {
    super("the body of the request failed", { cause });
  }
}

/** An iteration that frees its program at its end, also if it is returned before it has begun. */
class Stream<T> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #items: AsyncGenerator<T, undefined>;
  readonly #free: (isComplete: boolean) => void;
  #isOver = false;

  constructor(items: AsyncGenerator<T, undefined>, free: (isComplete: boolean) => void) {
    this.#items = items;
    this.#free = free;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    try {
      const item = await this.#items.next();
      if (item.done) this.#end(true);
      return item;
    } catch (error) {
      this.#end(false);
      throw error;
    }
  }

  /** Does not wait for the program: it is killed. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#end(false);
    return { done: true, value: undefined };
  }

  #end(isComplete: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#free(isComplete);
  }
}

async function* content(
  dialogue: Dialogue,
  asked: string | null,
  bytes: number | null,
): AsyncGenerator<Buffer, undefined> {
  let received = 0;
  let isLast = false;
  for (;;) {
    const { type, length } = await dialogue.next(false).catch((error) => {
      throw named(error, asked);
    });
    if (type === "end") {
      if (bytes !== null && received !== bytes) broke(dialogue, "it sent too little content");
      return undefined;
    }
    if (type !== "data" || isLast || length > DATA_BYTES) broke(dialogue, "it sent content of a wrong size");
    isLast = length < DATA_BYTES;
    received += length;
    if (bytes !== null && received > bytes) broke(dialogue, "it sent too much content");
    for (let left = length; left > 0; ) {
      const part = await dialogue.content(left);
      left -= part.length;
      yield part;
    }
  }
}

async function* events(dialogue: Dialogue, root: string, over: AbortSignal): AsyncGenerator<FileEvent, undefined> {
  let [second, count] = [performance.now(), 0];
  for (;;) {
    let answer: Answer;
    try {
      answer = await dialogue.next(true);
    } catch (error) {
      if (over.aborted) return undefined;
      throw error;
    }
    if (answer.type === "end") return undefined;
    if (answer.type !== "event") broke(dialogue, "it sent another answer than an event");
    yield dialogue.check(() => readEvent(answer, root));
    const elapsed = performance.now() - second;
    if (elapsed >= 1_000) [second, count] = [performance.now(), 0];
    else if (++count === EVENTS_PER_SECOND) await new Promise((resolve) => setTimeout(resolve, 1_000 - elapsed));
  }
}

function readEvent({ fields }: Answer, root: string): FileEvent {
  const type = EVENTS[fields.number(1)];
  const path = fields.text(MAX_PATH_BYTES).toString();
  const from = fields.text(MAX_PATH_BYTES).toString();
  fields.end();
  if (!type) throw new FileProgramStopped("it sent an unknown event");
  if (type === "overflow") return { type };
  return type === "moved"
    ? { type, path: below(root, path), from: below(root, from) }
    : { type, path: below(root, path) };
}

const below = (root: string, path: string) => (path === "" ? root : root === "/" ? `/${path}` : `${root}/${path}`);

/** Skips reports of progress, of which a program may send some for a bounded time. Each one is work for this process. */
async function afterProgress(dialogue: Dialogue): Promise<Answer> {
  const started = performance.now();
  let [second, count] = [started, 0];
  for (;;) {
    const answer = await dialogue.next(false);
    if (answer.type !== "progress") return answer;
    if (performance.now() - second >= 1_000) [second, count] = [performance.now(), 0];
    if (++count > PROGRESS_PER_SECOND) return broke(dialogue, "it reports progress without end");
    if (performance.now() - started > PROGRESS_MS) return broke(dialogue, "it did not end");
  }
}

async function expect(dialogue: Dialogue, type: AnswerType): Promise<Answer> {
  const answer = await afterProgress(dialogue);
  if (answer.type !== type) return broke(dialogue, "it sent another answer than the expected one");
  return answer;
}

function broke(dialogue: Dialogue, why: string): never {
  const error = new FileProgramStopped(why);
  dialogue.kill(error);
  throw error;
}

function readCounts({ fields }: Answer): { readonly files: number; readonly bytes: number } {
  const counts = { files: fields.large(), bytes: fields.large() };
  fields.end();
  return counts;
}

function readInfo(dialogue: Dialogue, answer: Answer, asked: string): FileInfo {
  return dialogue.check(() => decodeInfo(answer, () => display(asked)).info);
}

/** An entry of a list, whose name must come after `last`. */
function readEntry(answer: Answer, directory: string, last: Buffer): { info: FileInfo; name: Buffer } {
  const root = display(directory);
  const entry = decodeInfo(answer, (name) => below(root, name.toString()));
  if (!isName(entry.name) || Buffer.compare(entry.name, last) <= 0) {
    throw new FileProgramStopped("it sent an entry in a wrong place");
  }
  return entry;
}

function decodeInfo({ fields }: Answer, pathOf: (name: Buffer) => string): { info: FileInfo; name: Buffer } {
  const type = TYPES[fields.number(1)];
  const mode = fields.number(4);
  const bytes = fields.large();
  const modifiedAtMs = fields.signed();
  const etag = fields.text(63).toString("latin1");
  const name = fields.text(255);
  const target = fields.text(MAX_PATH_BYTES).toString();
  fields.end();
  if (!type || mode > 0o7777 || !ETAG.test(etag)) throw new FileProgramStopped("it sent an impossible file");
  const info = { path: pathOf(name), type, bytes, mode, modifiedAtMs, etag };
  // The name is kept while others are compared with it, but not the chunk that it is a part of.
  return { info: type === "link" ? { ...info, target } : info, name: Buffer.from(name) };
}

const isName = (name: Buffer) => name.length > 0 && !name.includes("/");

/** @returns the cursor of the next page, or null */
function readListEnd({ fields }: Answer, last: Buffer, from: Buffer): string | null {
  const more = fields.number(1);
  const name = fields.text(255);
  fields.end();
  if (more === 0) return null;
  if (!isName(name) || Buffer.compare(name, last) < 0 || Buffer.compare(name, from) <= 0) {
    throw new FileProgramStopped("its list does not advance");
  }
  return name.toString("base64url");
}

function decodeCursor(cursor: string): Buffer {
  const name = Buffer.from(cursor, "base64url");
  if (name.toString("base64url") !== cursor || !isName(name) || name.length > 255 || name.includes(0)) {
    throw new FileError("badPath", null, "the cursor is not one of a list");
  }
  return name;
}

const isRange = (range: FileRange) =>
  "last" in range
    ? Number.isSafeInteger(range.last) && range.last > 0
    : Number.isSafeInteger(range.from) &&
      range.from >= 0 &&
      (range.to === null || (Number.isSafeInteger(range.to) && range.to > range.from));

/** A path as it is shown: without repeated slashes, `.`, and a slash at the end. */
function display(path: string): string {
  return `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
}

/** A failure of the program names the path of the request, if there is one, instead of what the program says. */
function named(error: unknown, asked: string | null): unknown {
  if (!(error instanceof FileError) || error instanceof FileProgramStopped) return error;
  const detail = error.path === null ? error.message : error.message.slice(error.path.length + 2);
  return new FileError(error.code, asked === null ? error.path : display(asked), detail || FILE_ERRORS[error.code]);
}
