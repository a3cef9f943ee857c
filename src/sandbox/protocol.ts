/**
 * The frames and keys of the launcher's protocol. launcher/protocol.def describes each of them, and launcher/PROTOCOL.md how they are used.
 * A test compares this file with the output of `assay-launcher --describe`.
 */
export const PROTOCOL_VERSION = 1;

// generated: frames
export const FRAMES = {
  HELLO: 1,
  STEP: 2,
  STDOUT: 3,
  STDERR: 4,
  ENDED: 5,
  TEARDOWN: 6,
  REFUSED: 7,
  FAILED: 8,
  FILE: 9,
  PARK: 10,
  PARKED: 11,
  PEER: 12,
  INPUT: 13,
  SIGNAL: 14,
  ENDING: 15,
} as const;
// end
export type FrameName = keyof typeof FRAMES;

type Count = "one" | "optional" | "many";
interface FrameKey {
  readonly number: number;
  readonly type: "int" | "bytes";
  readonly frame: FrameName;
  readonly count: Count;
}

const int = (number: number, frame: FrameName, count: Count = "one"): FrameKey => ({
  number,
  type: "int",
  frame,
  count,
});
const bytes = (number: number, frame: FrameName, count: Count = "one"): FrameKey => ({
  number,
  type: "bytes",
  frame,
  count,
});

// generated: keys
export const KEYS = {
  ARG: bytes(1, "STEP", "many"),
  ENV: bytes(2, "STEP", "many"),
  FILE_NAME: bytes(3, "STEP", "many"),
  FILE_DATA: bytes(4, "STEP", "many"),
  FILE_MODES: bytes(31, "STEP", "optional"),
  STDIN: bytes(5, "STEP"),
  KEEP_WORK: int(6, "STEP"),
  MORE: int(7, "STEP"),
  COLLECT: int(26, "STEP"),
  KEEP_FILES: int(29, "STEP"),
  PARK_ARG: bytes(27, "STEP", "many"),
  SAMPLE_MS: int(28, "STEP"),
  LIVE_STDIN: int(30, "STEP"),
  PROTOCOL: int(40, "HELLO"),
  BUILD: bytes(41, "HELLO"),
  SLOT: int(42, "HELLO"),
  BACKEND: bytes(43, "HELLO"),
  SIGNAL_SOURCE: bytes(44, "HELLO"),
  PRESSURE: int(45, "HELLO"),
  SECCOMP_POLICY: bytes(46, "HELLO"),
  PIDFD_MODE: bytes(47, "HELLO"),
  KERNEL: bytes(48, "HELLO"),
  FAIL_STEP: bytes(60, "ENDED", "optional"),
  FAIL_OBJECT: bytes(61, "ENDED", "optional"),
  FAIL_ERRNO: int(62, "ENDED", "optional"),
  EXIT_CODE: int(63, "ENDED", "optional"),
  SIGNAL: int(64, "ENDED", "optional"),
  KILL_REASON: bytes(65, "ENDED"),
  WALL_NS: int(66, "ENDED"),
  READ_ERROR: int(85, "ENDED"),
  CONTROL: bytes(87, "ENDED", "many"),
  CONTROL_MISSING: bytes(88, "ENDED", "many"),
  RLIMIT_CPU_SOFT: int(89, "ENDED"),
  RLIMIT_CPU_HARD: int(90, "ENDED"),
  RLIMIT_AS_SOFT: int(91, "ENDED"),
  RLIMIT_AS_HARD: int(92, "ENDED"),
  RLIMIT_NOFILE_SOFT: int(93, "ENDED"),
  RLIMIT_NOFILE_HARD: int(94, "ENDED"),
  RLIMIT_NPROC_SOFT: int(95, "ENDED"),
  RLIMIT_NPROC_HARD: int(96, "ENDED"),
  RLIMIT_FSIZE_SOFT: int(97, "ENDED"),
  RLIMIT_FSIZE_HARD: int(98, "ENDED"),
  RLIMIT_STACK_SOFT: int(99, "ENDED"),
  RLIMIT_STACK_HARD: int(100, "ENDED"),
  EVIDENCE_ERROR: bytes(101, "ENDED", "many"),
  PARKED_RUNTIME: int(105, "ENDED"),
  WAITED_NS: int(106, "ENDED", "optional"),
  ENDED_FIRST: int(107, "ENDED", "optional"),
  EXCEEDED_FIRST: int(110, "ENDED", "optional"),
  SAMPLES: bytes(108, "ENDED", "optional"),
  SENT_SIGNAL: int(109, "ENDED", "optional"),
  REAPED: int(120, "TEARDOWN"),
  POPULATED: int(121, "TEARDOWN", "optional"),
  PIDS_LEFT: int(122, "TEARDOWN"),
  ZOMBIES: int(123, "TEARDOWN"),
  RESIDUAL_MOUNT: bytes(124, "TEARDOWN", "many"),
  GROUP_LEFT: bytes(125, "TEARDOWN", "many"),
  COLLECTION_ERROR: bytes(126, "TEARDOWN", "many"),
  LEFT_NAME: bytes(130, "FILE"),
  LEFT_DATA: bytes(131, "FILE"),
  LEFT_MODE: int(132, "FILE"),
  WAITING: int(135, "PARKED"),
  WAITING_BYTES: int(136, "PARKED"),
  REASON: bytes(140, "REFUSED"),
  OBJECT: bytes(141, "REFUSED"),
  STEP_NAME: bytes(150, "FAILED"),
  STEP_OBJECT: bytes(151, "FAILED"),
  STEP_ERRNO: int(152, "FAILED"),
  WALL_MS: int(8, "STEP"),
  CPU_MS: int(9, "STEP"),
  CPUS: int(24, "STEP"),
  MEMORY_BYTES: int(10, "STEP"),
  PROCESSES: int(11, "STEP"),
  FILE_BYTES: int(12, "STEP"),
  OPEN_FILES: int(13, "STEP"),
  ADDRESS_SPACE_BYTES: int(14, "STEP"),
  STACK_BYTES: int(15, "STEP"),
  WORK_BYTES: int(18, "STEP"),
  WORK_INODES: int(19, "STEP"),
  TMP_BYTES: int(20, "STEP"),
  STDOUT_BYTES: int(22, "STEP"),
  STDERR_BYTES: int(23, "STEP"),
  CPU_RLIMIT_SECS: int(16, "STEP"),
  PROCESSES_RLIMIT: int(17, "STEP"),
  TMP_INODES: int(21, "STEP"),
  KERNEL_BYTES: int(25, "STEP"),
  WALKABLE_BYTES: int(32, "STEP"),
  MEMORY_LIMIT: int(69, "ENDED"),
  MEMORY_PEAK: int(68, "ENDED"),
  MEMORY_HITS: int(70, "ENDED"),
  OOM_EVENTS: int(71, "ENDED"),
  OOM_KILLS: int(72, "ENDED"),
  CPU_USEC: int(67, "ENDED"),
  PIDS_CURRENT: int(74, "ENDED"),
  PIDS_LIMIT: int(76, "ENDED"),
  PIDS_REFUSED: int(73, "ENDED"),
  PIDS_PEAK: int(75, "ENDED", "optional"),
  PRESSURE_FULL_USEC: int(80, "ENDED", "optional"),
  PRESSURE_SOME_USEC: int(81, "ENDED", "optional"),
  FSIZE_SIGNALS: int(77, "ENDED"),
  CPU_RLIMIT_SIGNALS: int(78, "ENDED"),
  STDOUT_SEEN: int(82, "ENDED"),
  STDERR_SEEN: int(83, "ENDED"),
  OUTPUT_AGE_USEC: int(84, "ENDED", "optional"),
  SURVIVORS: int(86, "ENDED"),
  KEPT_BYTES: int(102, "ENDED"),
  END_USEC: int(103, "ENDED"),
  KERNEL_MEMORY: int(104, "ENDED"),
  WALKABLE: int(111, "ENDED"),
} as const satisfies Record<string, FrameKey>;
// end

export type KeyName = keyof typeof KEYS;

/** An unlimited rlimit, as the kernel and the protocol write it. */
export const UNLIMITED = 0xffff_ffff_ffff_ffffn;
