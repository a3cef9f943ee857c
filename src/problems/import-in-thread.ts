import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { abortAfter } from "../domain/abort-after.ts";
import type { Harness } from "../domain/harness.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { toPlain } from "../languages/load.ts";
import { PackageError } from "./files.ts";
import type { Importable, ReadOptions } from "./import.ts";
import type { ContentRequest, ImportReply, OpenRequest } from "./import-thread.ts";

/** The most memory of the thread, also for a hostile archive. The archive and one of its files are outside of this memory. */
const MEMORY_MIB = 256;
/**
 * The most CPU time of the thread to open the package, and then to read each content. Unlike wall time, it does not pass while
 * other processes run.
 */
const MOST_CPU_MS = 20_000;
/**
 * The most wall time for each of these steps. The thread waits for nothing, so a step takes so long only on a machine that hardly
 * lets the thread run.
 */
const MOST_WALL_MS = 300_000;
const WATCH_MS = 250;

/** A package in a thread of its own. */
export interface ThreadImport {
  readonly importable: Importable;
  /** Reads an input or an answer of a test. Only one call may be in progress at a time. @throws PackageError */
  readonly read: (test: number, place: number) => Promise<Buffer>;
}

export interface ThreadOptions extends ReadOptions {
  readonly languages: Languages;
  /** If it is aborted, the import ends with its reason. */
  readonly signal: AbortSignal;
  /**
   * Awaited before any file is unpacked. If the package refers to an archive among its files, awaited again before the files of
   * that archive are unpacked.
   * @param bytes the size of all files together, as the archives state it.
   */
  readonly admit: (bytes: number) => Promise<void>;
  /** The most CPU time of the thread for a step: opening the package, or reading one content. */
  readonly mostCpuMs?: number;
}

/**
 * Opens an archive in a thread with bounded memory and time, and ends the thread after the work.
 * @param archive must not be used afterwards, because its memory is moved into the thread if nothing else shares this memory.
 * @param mostBytes the most bytes of all files together.
 * @throws PackageError
 */
export async function importInThread<T>(
  archive: Buffer,
  mostBytes: number,
  { languages, signal, admit, mostCpuMs = MOST_CPU_MS, ...options }: ThreadOptions,
  work: (opened: ThreadImport) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  // The archive is moved into the thread, or copied before if it shares its memory with something else.
  const ownArchive = archive.byteLength === archive.buffer.byteLength ? archive : Uint8Array.from(archive);
  const opening: OpenRequest = { archive: ownArchive, mostBytes, languages: toPlain(languages), options };
  const thread = new Worker(new URL("./import-thread.ts", import.meta.url), {
    workerData: opening,
    transferList: [ownArchive.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
  });
  const failed = new Promise<never>((_, reject) => {
    thread.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooMuch("memory") : error),
    );
  });
  failed.catch(() => {}); // if the thread fails between two steps, the next step reports it
  const next = async (): Promise<ImportReply> => {
    const [ending, over] = [new AbortController(), new AbortController()];
    void exceedsCpuTime(thread, mostCpuMs, ending.signal).then((exceeds) => exceeds && over.abort());
    const late = abortAfter(MOST_WALL_MS, signal, over.signal, ending.signal);
    try {
      const [answer] = (await Promise.race([once(thread, "message", { signal: late }), failed])) as [ImportReply];
      if ("fault" in answer) throw new PackageError("", answer.fault);
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      throw late.aborted ? tooMuch("time") : error;
    } finally {
      ending.abort();
    }
  };
  const read = async (test: number, place: number) => {
    const answer = next();
    thread.postMessage({ test, place } satisfies ContentRequest);
    return bufferOf(((await answer) as { readonly content: Uint8Array }).content);
  };
  try {
    let answer = await next();
    while ("unpacked" in answer) {
      await admit(answer.unpacked);
      const following = next();
      thread.postMessage("admitted");
      answer = await following;
    }
    const { opened } = answer as { readonly opened: Importable };
    const checker = opened.checker && withBuffers(opened.checker);
    const grader = opened.grader && withBuffers(opened.grader);
    const harness = opened.harness && harnessWithBuffers(opened.harness);
    const submissions =
      opened.submissions?.map((one) => ({ ...one, program: one.program && withBuffers(one.program) })) ?? null;
    return await work({ importable: { ...opened, checker, grader, harness, submissions }, read });
  } finally {
    await thread.terminate();
  }
}

/** @returns true as soon as the thread has used more CPU time than `mostMs`, or false if the step has ended before. */
async function exceedsCpuTime(thread: Worker, mostMs: number, ended: AbortSignal): Promise<boolean> {
  const startMs = await cpuMsOf(thread);
  while (!ended.aborted) {
    await sleep(WATCH_MS, undefined, { signal: ended }).catch(() => {});
    if (!ended.aborted && (await cpuMsOf(thread)) - startMs > mostMs) return true;
  }
  return false;
}

/** The CPU time of a thread in milliseconds; 0 for a thread that has not begun or has ended. */
async function cpuMsOf(thread: Worker): Promise<number> {
  const used = await thread.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (used.user + used.system) / 1_000;
}

function tooMuch(what: string): PackageError {
  return new PackageError("archive", `takes too much ${what} to read`);
}

/** Makes a buffer of a plain array of bytes, which is what a buffer becomes in a message between threads. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

function harnessWithBuffers(harness: Harness): Harness {
  const parts = Object.entries(harness).map(([key, part]) => [key, { ...part, files: part.files.map(fileWithBuffer) }]);
  return Object.fromEntries(parts);
}

function fileWithBuffer({ name, data }: WorkFile): WorkFile {
  return { name, data: bufferOf(data) };
}

function withBuffers<P extends Program>({ code, stdin, options, ...rest }: P) {
  const files = options?.files.map(fileWithBuffer) ?? [];
  return {
    ...rest,
    code: bufferOf(code),
    stdin: bufferOf(stdin),
    ...(options && { options: { ...options, files } }),
  };
}
