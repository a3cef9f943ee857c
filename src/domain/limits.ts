/** Names of the execution profiles in display order. */
export const PROFILE_NAMES = ["judge", "agent"] as const;

export type ProfileName = (typeof PROFILE_NAMES)[number];

export function isProfileName(text: string): text is ProfileName {
  return (PROFILE_NAMES as readonly string[]).includes(text);
}

/** A limit of a step, declared in one row: its key in the launcher's protocol, how it is enforced, and who may set it. */
export interface LimitRow {
  /** What it limits, for readers of launcher/protocol.def. */
  readonly meaning: string;
  /** A remark for the table of docs/limits.md. */
  readonly note?: string;
  /** The key of a STEP frame that has its value: the number, and the smallest and the largest value. */
  readonly key: { readonly number: number; readonly smallest: number; readonly largest: number };
  /** The rlimit that enforces it; without one, the launcher does, by the cgroup, by file systems or by its own clock. */
  readonly rlimit?: string;
  /**
   * The most that the launcher accepts from the service, which could be compromised (setup/ceilings). It must be at least as high as every
   * value in languages/. Without it, only the range of the key holds.
   */
  readonly ceiling?: number;
  /** Whether a language can be without it (null). */
  readonly isOptional?: true;
  /** The field by which a request can lower it: the value times `scale` is the limit, and `least` is its smallest value. */
  readonly field?: { readonly name: string; readonly scale: number; readonly least: number };
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
/** The largest value of a key without a bound. */
export const NO_BOUND = Number.POSITIVE_INFINITY;

/**
 * The limits of one step. All values are integers; the unit is the end of the name. The values themselves are in languages/: those of the
 * profiles with a reason, and those that a language changes. The limits have the order in which requests are hashed, which never changes.
 */
export const LIMITS = {
  wallMs: {
    meaning:
      "Monotonic time from the exec of the program, or from its hand-over to a runtime that waits, until its exit",
    key: { number: 8, smallest: 1, largest: 3_600_000 },
    ceiling: 120_000,
    field: { name: "wall_time_secs", scale: 1000, least: 0.01 },
  },
  cpuMs: {
    meaning: "CPU time of all processes in the cgroup together, user and system",
    key: { number: 9, smallest: 1, largest: 3_600_000 },
    ceiling: 120_000,
    field: { name: "cpu_time_secs", scale: 1000, least: 0.01 },
  },
  cpus: {
    meaning:
      "To how many CPUs the program is bound, namely those with the fewest boxes; if the launcher has no more CPUs than that, it is not bound",
    key: { number: 24, smallest: 1, largest: NO_BOUND },
    ceiling: 1,
  },
  memoryBytes: {
    meaning:
      "Memory limit of the cgroup. Files that the step writes count, and so do pages of the image that it is the first to read. KEPT_BYTES do not count",
    key: { number: 10, smallest: MIB, largest: 64 * GIB },
    ceiling: 4 * GIB,
    field: { name: "memory_bytes", scale: 1, least: 16 * MIB },
  },
  processes: {
    meaning: "Task limit of the cgroup: processes and threads together",
    note: "including threads",
    key: { number: 11, smallest: 1, largest: 4096 },
    ceiling: 512,
    field: { name: "processes", scale: 1, least: 1 },
  },
  fileBytes: {
    meaning: "The largest single file",
    note: "largest file",
    key: { number: 12, smallest: 0, largest: 64 * GIB },
    rlimit: "RLIMIT_FSIZE",
    ceiling: 16 * GIB,
    field: { name: "file_bytes", scale: 1, least: 1 },
  },
  openFiles: {
    meaning: "Open files of each process",
    key: { number: 13, smallest: 3, largest: 65_536 },
    rlimit: "RLIMIT_NOFILE",
    ceiling: 4096,
    field: { name: "open_files", scale: 1, least: 8 },
  },
  addressSpaceBytes: {
    meaning:
      "Address space of each process. Some runtimes reserve far more than they use, so that they have no such limit",
    key: { number: 14, smallest: MIB, largest: NO_BOUND },
    rlimit: "RLIMIT_AS",
    isOptional: true,
  },
  stackBytes: {
    meaning: "Stack of each process",
    key: { number: 15, smallest: 64 * KIB, largest: NO_BOUND },
    rlimit: "RLIMIT_STACK",
    field: { name: "stack_bytes", scale: 1, least: 256 * KIB },
  },
  workBytes: {
    meaning: "Size of the file system at /box",
    note: "`/box`",
    key: { number: 18, smallest: 4 * KIB, largest: 64 * GIB },
    ceiling: GIB,
  },
  workInodes: {
    meaning: "Files and directories that /box can hold",
    note: "`/box`",
    key: { number: 19, smallest: 2, largest: 16_777_216 },
    ceiling: 65_536,
  },
  tmpBytes: {
    meaning: "Size of the file system at /tmp, and of the one at /dev/shm",
    note: "`/tmp`; `/dev/shm` has the same size",
    key: { number: 20, smallest: 4 * KIB, largest: 64 * GIB },
    ceiling: GIB,
  },
  stdoutBytes: {
    meaning: "How many bytes of standard output are forwarded; the rest is counted and discarded",
    note: "kept",
    key: { number: 22, smallest: 0, largest: 64 * MIB },
    ceiling: 16 * MIB,
    field: { name: "stdout_bytes", scale: 1, least: 1 },
  },
  stderrBytes: {
    meaning: "How many bytes of standard error are forwarded; the rest is counted and discarded",
    note: "kept",
    key: { number: 23, smallest: 0, largest: 64 * MIB },
    ceiling: 16 * MIB,
    field: { name: "stderr_bytes", scale: 1, least: 1 },
  },
} as const satisfies Readonly<Record<string, LimitRow>>;

type Rows = typeof LIMITS;
export type LimitName = keyof Rows;
export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[];

/** The values of all limits of a step. */
export type Limits = { readonly [Name in LimitName]: Rows[Name] extends { isOptional: true } ? number | null : number };

/** The key of a limit in launcher/protocol.def, for example WALL_MS for `wallMs`. */
export type KeyOf<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? "" : "_"}${Uppercase<First>}${KeyOf<Rest>}`
  : "";

export function keyOf<Name extends LimitName>(name: Name): KeyOf<Name> {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase() as KeyOf<Name>;
}

type NameOfField<Name extends LimitName> = Rows[Name] extends { field: { name: infer Field extends string } }
  ? Field
  : never;

/** The limits that a request can lower, by the name of the field in the request. */
export const LIMIT_FIELDS = Object.fromEntries(
  LIMIT_NAMES.flatMap((limit) => {
    const { field } = LIMITS[limit] as LimitRow;
    return field ? [[field.name, { limit, scale: field.scale, least: field.least }]] : [];
  }),
) as unknown as {
  readonly [Name in LimitName as NameOfField<Name>]: {
    readonly limit: Name;
    readonly scale: number;
    readonly least: number;
  };
};

export type LimitField = keyof typeof LIMIT_FIELDS;
export const LIMIT_FIELD_NAMES = Object.keys(LIMIT_FIELDS) as LimitField[];
export type RequestedLimits = { readonly [F in LimitField]?: number };

/**
 * Limits that a problem states for the steps of a program, in the units of a request. Unlike those of a request, they replace the limits of
 * the profile, and can be higher.
 */
export interface StatedLimits {
  readonly compile?: RequestedLimits;
  readonly execute?: RequestedLimits;
}

/** What a problem states for the steps of a program, and what holds otherwise, as far as the ceilings permit it. */
export interface TestLimits {
  readonly stated?: StatedLimits;
  readonly defaults?: StatedLimits;
}

/** Limits of the two steps. `compile` is absent where a language has no compile step. */
export interface StepLimits {
  readonly compile?: Limits;
  readonly execute: Limits;
}
