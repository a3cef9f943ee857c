import { cpus } from "node:os";
import type { Command } from "../domain/language.ts";
import type { Limits } from "../domain/limits.ts";
import { UNLIMITED } from "./protocol.ts";
import { FrameWriter } from "./wire.ts";

/** One step of a submission: what to run, on what, within which limits. */
export interface Step {
  readonly command: Command;
  /** Written into the fresh work directory before the program starts; none when the work is kept. */
  readonly files: readonly { readonly name: string; readonly data: Buffer }[];
  readonly stdin: Buffer;
  readonly limits: Limits;
  /** `keep`: the work directory that the step before left. */
  readonly work: "fresh" | "keep";
  /** Another step will keep this one's work directory. */
  readonly more: boolean;
}

/**
 * The kernel refuses a fork by RLIMIT_NPROC before it asks the group, and then the group's
 * counter, our only evidence, stays at zero. So the rlimit stands well above it, as a backstop.
 */
const PROCESS_RLIMIT_ABOVE = 64;

/**
 * RLIMIT_CPU is charged by ticks: on a busy machine a process can be charged for time that others used, half as much again
 * has been seen, and SIGKILL at the hard limit leaves no trace. So it stands where no process can come before its wall
 * time ends, however it is charged: a backstop for a supervisor that does not act. The budget itself is kept by the exact
 * count of the group.
 * @returns seconds.
 */
function cpuRlimit({ wallMs }: Limits): number {
  return Math.ceil(wallMs / 1000) * CPUS + CPU_RLIMIT_ABOVE_SECS;
}
const CPUS = cpus().length;
const CPU_RLIMIT_ABOVE_SECS = 1;

/**
 * Of /tmp and of /dev/shm. The kernel charges for directories, but not for the node of 256 bytes in which a directory keeps its
 * first name: 50 MiB for three times 65,536 directories, each in the one before.
 */
const BYTES_PER_TMP_INODE = 16_384;

/** Files and directories that /tmp can hold, and /dev/shm: as many as the work directory at most. */
export function tmpInodes(limits: Pick<Limits, "workInodes" | "tmpBytes">): number {
  return Math.min(limits.workInodes, Math.max(64, Math.floor(limits.tmpBytes / BYTES_PER_TMP_INODE)));
}

const LEAST_KERNEL_BYTES = 48 * 1_048_576;

/** How much of its memory limit a run may use in the kernel: mappings, page tables, inodes, descriptors, queued data. */
export function kernelBytes({ memoryBytes }: Pick<Limits, "memoryBytes">): number {
  return Math.max(LEAST_KERNEL_BYTES, Math.floor(memoryBytes / 8));
}

/** The STEP frame of a step. */
export function encodeStep({ command, files, stdin, limits, work, more }: Step): Buffer {
  const frame = new FrameWriter("STEP");
  for (const arg of command.command) frame.bytes("ARG", arg);
  for (const [name, value] of Object.entries(command.env)) frame.bytes("ENV", `${name}=${value}`);
  for (const { name, data } of files) frame.bytes("FILE_NAME", name).bytes("FILE_DATA", data);
  return frame
    .bytes("STDIN", stdin)
    .int("KEEP_WORK", work === "keep" ? 1 : 0)
    .int("MORE", more ? 1 : 0)
    .int("WALL_MS", limits.wallMs)
    .int("CPU_MS", limits.cpuMs)
    .int("MEMORY_BYTES", limits.memoryBytes)
    .int("PROCESSES", limits.processes)
    .int("FILE_BYTES", limits.fileBytes)
    .int("OPEN_FILES", limits.openFiles)
    .int("ADDRESS_SPACE_BYTES", limits.addressSpaceBytes ?? UNLIMITED)
    .int("STACK_BYTES", limits.stackBytes)
    .int("CPU_RLIMIT_SECS", cpuRlimit(limits))
    .int("PROCESSES_RLIMIT", limits.processes + PROCESS_RLIMIT_ABOVE)
    .int("WORK_BYTES", limits.workBytes)
    .int("WORK_INODES", limits.workInodes)
    .int("TMP_BYTES", limits.tmpBytes)
    .int("TMP_INODES", tmpInodes(limits))
    .int("STDOUT_BYTES", limits.stdoutBytes)
    .int("STDERR_BYTES", limits.stderrBytes)
    .int("CPUS", limits.cpus ?? UNLIMITED)
    .int("KERNEL_BYTES", kernelBytes(limits))
    .end();
}
