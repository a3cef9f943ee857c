import type { Command } from "../domain/language.ts";
import { keyOf, LIMIT_NAMES, LIMITS, type LimitField, type LimitRow, type Limits, NO_BOUND } from "../domain/limits.ts";
import type { WorkFile } from "../domain/report.ts";
import { type KeyName, UNLIMITED } from "./protocol.ts";
import { encodeRaw, FrameWriter } from "./wire.ts";

/** One step of a submission: its command, input and limits. */
export interface Step {
  readonly command: Command;
  /** Files that are written into the fresh work directory before the program starts; empty if the work directory is kept. */
  readonly files: readonly WorkFile[];
  /** The account whose later steps will probably have the same list of files. A slot then keeps the list, and gets it only once. */
  readonly fileOwner?: string;
  readonly stdin: Buffer;
  /** Whether input comes while the step runs (Slot.input). `stdin` is then empty. */
  readonly live?: boolean;
  readonly limits: Limits;
  /** `fresh`: an empty work directory. `keep`: the work directory of the previous step. */
  readonly work: "fresh" | "keep";
  /** Whether another step will keep the work directory of this one. */
  readonly more: boolean;
  /** Which files the report contains. `work`: all of the work directory, if the exit code is 0. `feedback`: those of /box/feedback. */
  readonly collect?: keyof typeof COLLECT;
}

/**
 * The kernel checks RLIMIT_NPROC before the cgroup. A fork that the rlimit refuses does not
 * increment the cgroup's counter, the only evidence for PLE, so the rlimit is a backstop above it.
 */
const PROCESS_RLIMIT_ABOVE = 64;

/**
 * The value of RLIMIT_CPU for a step. The kernel charges it by ticks: on a busy machine, a process can be charged for time that other
 * processes used (50 % more has been measured), and SIGKILL at the hard limit leaves no trace. The rlimit is therefore so high that no
 * process can reach it within its wall time, however it is charged. It is a backstop in case the launcher does not act; the launcher
 * enforces the CPU limit by the exact count of the cgroup. Twice the wall time is also enough for a program whose wall time stands still
 * while its interactor works.
 * @returns seconds.
 */
export function cpuRlimit({ wallMs, cpus }: Limits): number {
  return Math.ceil(wallMs / 1000) * Math.max(2, cpus) + CPU_RLIMIT_ABOVE_SECS;
}
const CPU_RLIMIT_ABOVE_SECS = 1;

/**
 * Bounds the files in /tmp and /dev/shm. The kernel charges for directories, but not for the 256-byte node that holds the
 * first name in a directory: 50 MiB for three times 65,536 nested directories.
 */
const BYTES_PER_TMP_INODE = 16_384;

/** How many files and directories /tmp can hold, and /dev/shm as well: at most as many as the work directory. */
export function tmpInodes(limits: Pick<Limits, "workInodes" | "tmpBytes">): number {
  return Math.min(limits.workInodes, Math.max(64, Math.floor(limits.tmpBytes / BYTES_PER_TMP_INODE)));
}

const LEAST_KERNEL_BYTES = 48 * 1_048_576;

/** How much of its memory limit a step may use inside the kernel: for mappings, page tables, inodes, descriptors and queued data. */
export function kernelBytes({ memoryBytes }: Pick<Limits, "memoryBytes">): number {
  return Math.max(LEAST_KERNEL_BYTES, Math.floor(memoryBytes / 8));
}

/** With memory limits above this one, walkableBytes() does not grow, so that the calls that it bounds end in a bearable time. */
const WALKABLE_MEMORY_BYTES = 1024 * 1_048_576;

/**
 * The bound for the page tables of one process times the tasks (processes and threads) of a step: three fifths of the memory limit, or of
 * 1 GiB if the limit is larger. Each task can be in a system call that walks the page tables, which takes 4 ms for each MiB and which the
 * kernel does not interrupt. With this bound, such calls end in 2.5 s if the memory limit is 1 GiB or more, and in 0.6 s if it is 256 MiB.
 * A process that uses its memory densely reaches the bound with 300 tasks. The heap of Node, which is less dense than that of any other
 * runtime, reaches it with 45 idle workers. With the whole memory limit as the bound, more workers would fit, but the slowest of these
 * calls ended 3.4 s late instead of 1.1 s.
 */
export function walkableBytes({ memoryBytes }: Pick<Limits, "memoryBytes">): number {
  return Math.floor((Math.min(memoryBytes, WALKABLE_MEMORY_BYTES) * 3) / 5);
}

/**
 * The bounds of the launcher for one step: the number of files, and the bytes of files and input. Space is left for the rest of the
 * frame.
 */
export const MAX_STEP_FILES = 64;
export const MAX_STEP_BYTES = 64 * 1_048_576 - 131_072;
/** The most bytes of a list of files that a slot keeps for later steps. Here, too, space is left for the rest of the frame. */
export const MAX_FILE_SET_BYTES = 9 * 1_048_576 - 131_072;

/** The largest body of an INPUT frame. */
const INPUT_BYTES = 65_536;

/** The INPUT frames for a running step. An empty buffer ends the input. */
export function encodeInput(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += INPUT_BYTES) {
    frames.push(encodeRaw("INPUT", bytes.subarray(at, at + INPUT_BYTES)));
  }
  return frames;
}

/** The SIGNAL frame that sends a signal to the main program of a running step. */
export function encodeSignal(signal: number): Buffer {
  return encodeRaw("SIGNAL", Buffer.of(signal));
}

/** Whether the launcher accepts these files with this input. @param reservedBytes bytes that must be left. */
export function fitsStep({ files, stdin }: Pick<Step, "files" | "stdin">, reservedBytes = 0): boolean {
  return files.length <= MAX_STEP_FILES && bytesOf(files) + stdin.length + reservedBytes <= MAX_STEP_BYTES;
}

/** Whether no two files have the same name, which the launcher would refuse. */
export function hasNamesOnce({ files }: Pick<Step, "files">): boolean {
  return new Set(files.map(({ name }) => name)).size === files.length;
}

/** The bytes of files with their names. */
export function bytesOf(files: readonly WorkFile[]): number {
  return files.reduce((sum, { name, data }) => sum + Buffer.byteLength(name) + data.length, 0);
}

/** The interval between samples at the start of a step. The launcher doubles it in long runs. */
const SAMPLE_MS = 10;

/** The limits that the launcher gets although no file states them, because they follow from those in LIMITS. */
const DERIVED_LIMITS = {
  CPU_RLIMIT_SECS: {
    of: cpuRlimit,
    meaning:
      "The soft limit of RLIMIT_CPU; the hard one is a second more. The kernel counts this time by ticks, so the limit is only a backstop: set it above the CPU time that WALL_MS permits",
    key: { number: 16, smallest: 1, largest: 1_000_000 },
    rlimit: "RLIMIT_CPU",
    ceiling: 241,
    raisedBy: { field: "wall_time_secs", factor: 2, offset: 1 },
  },
  PROCESSES_RLIMIT: {
    of: ({ processes }: Limits) => processes + PROCESS_RLIMIT_ABOVE,
    meaning: "Set it above PROCESSES: if RLIMIT_NPROC refuses a fork, the cgroup does not count the refusal",
    key: { number: 17, smallest: 1, largest: 65_536 },
    rlimit: "RLIMIT_NPROC",
  },
  TMP_INODES: {
    of: tmpInodes,
    meaning: "Files and directories that /tmp can hold, and /dev/shm as well",
    key: { number: 21, smallest: 2, largest: 16_777_216 },
    ceiling: 16_384,
  },
  KERNEL_BYTES: {
    of: kernelBytes,
    meaning:
      "Kernel memory of the cgroup, checked at least every 20 ms. Above it, the memory limit is lowered to little more than the current use (check_kernel_memory() in supervise/limits.c)",
    key: { number: 25, smallest: 1_048_576, largest: 68_719_476_736 },
    ceiling: 536_870_912,
    raisedBy: { field: "memory_bytes", factor: 1 / 8, offset: 0 },
  },
  WALKABLE_BYTES: {
    of: walkableBytes,
    meaning:
      "The page tables of one process, times the tasks of the cgroup, or times 8 if there are fewer; checked at least every 20 ms. Above it, the kernel ends the box as out of memory (check_page_tables() in supervise/limits.c)",
    key: { number: 32, smallest: 1_048_576, largest: NO_BOUND },
    ceiling: 644_245_094,
  },
} as const satisfies Readonly<
  Record<
    string,
    Omit<LimitRow, "field" | "note"> & { readonly of: (limits: Limits) => number; readonly raisedBy?: Raise }
  >
>;

/** How a ceiling grows if the operator raises that of a field of a request: to the new value times the factor, plus the offset. */
interface Raise {
  readonly field: LimitField;
  readonly factor: number;
  readonly offset: number;
}

/** How a STEP frame has a limit. */
export interface LimitEntry extends Pick<LimitRow, "meaning" | "key" | "rlimit" | "ceiling"> {
  readonly name: KeyName;
  /** The value of the limit in a step with these limits; null: there is no limit. */
  readonly of: (limits: Limits) => number | null;
  /** Set if the operator can raise the ceiling (ASSAY_CEILINGS). */
  readonly raisedBy?: Raise;
}

/**
 * The limits in a STEP frame. Their keys in launcher/protocol.def, the rlimits that the launcher sets and setup/ceilings are generated from
 * this list.
 */
export const LIMIT_ENTRIES: readonly LimitEntry[] = [
  ...LIMIT_NAMES.map((name) => {
    const row: LimitRow = LIMITS[name];
    const { field } = row;
    const raisedBy = field && { field: field.name as LimitField, factor: field.scale, offset: 0 };
    return { ...row, name: keyOf(name), of: (limits: Limits) => limits[name], ...(raisedBy && { raisedBy }) };
  }),
  ...Object.entries(DERIVED_LIMITS).map(([name, row]) => ({ ...row, name: name as keyof typeof DERIVED_LIMITS })),
];

/** The value in FILE_MODES for a file without `mode`: the file gets the mode of new files. */
const MODE_DEFAULT = 0xffff;

function modesOf(files: readonly WorkFile[]): Buffer {
  const modes = Buffer.alloc(2 * files.length);
  for (const [at, { mode }] of files.entries()) modes.writeUInt16LE(mode ?? MODE_DEFAULT, 2 * at);
  return modes;
}

const COLLECT = { work: 1, feedback: 2 } as const;

/** The list in which a slot keeps files: its number, from 1, and whether it already contains the files of the step. */
export interface CachedFiles {
  readonly number: number;
  readonly isCached: boolean;
}

/** The STEP frame of a step, in pieces that must not change until they are sent. @param cached the list of the slot for the files. */
export function encodeStep(step: Step, cached?: CachedFiles): Buffer[] {
  return encoded(new FrameWriter("STEP"), cached?.isCached ? { ...step, files: [] } : step, cached);
}

/** The PEER frame for the step of an interactor. The step has no samples, because no user would see them. */
export function encodePeer(step: Step): Buffer[] {
  return encoded(new FrameWriter("PEER"), step, { sampleMs: 0 });
}

/**
 * The PARK frame for steps with this command and these limits. It starts the runtime of the command. Files and input come with the
 * step.
 */
export function encodePark(step: Step): Buffer[] {
  const frame = new FrameWriter("PARK");
  const { command, park } = step.command;
  const [program, ...args] = command;
  if (program !== undefined && park) for (const arg of [program, ...park, ...args]) frame.bytes("PARK_ARG", arg);
  return encoded(frame, { ...step, files: [], stdin: Buffer.alloc(0) });
}

function encoded(frame: FrameWriter, step: Step, { number = 0, sampleMs = SAMPLE_MS } = {}): Buffer[] {
  const { command, files, stdin, live, limits, work, more, collect } = step;
  for (const arg of command.command) frame.bytes("ARG", arg);
  for (const [name, value] of Object.entries(command.env)) frame.bytes("ENV", `${name}=${value}`);
  for (const { name, data } of files) frame.bytes("FILE_NAME", name).bytes("FILE_DATA", data);
  if (files.some(({ mode }) => mode !== undefined)) frame.bytes("FILE_MODES", modesOf(files));
  frame
    .bytes("STDIN", stdin)
    .int("KEEP_WORK", work === "keep" ? 1 : 0)
    .int("MORE", more ? 1 : 0);
  for (const { name, of } of LIMIT_ENTRIES) frame.int(name, of(limits) ?? UNLIMITED);
  return frame
    .int("COLLECT", collect ? COLLECT[collect] : 0)
    .int("KEEP_FILES", number)
    .int("SAMPLE_MS", sampleMs)
    .int("LIVE_STDIN", live ? 1 : 0)
    .pieces();
}
