import { createHash, randomUUID } from "node:crypto";
import { hasNetwork, type NetworkPolicy, toNetworkJson, type VersionedPolicy } from "../egress/policy.ts";
import type { TeardownReport } from "../report.ts";
import type { Caller } from "../submission.ts";

/*
 * A sandbox is a box that lives: executions run in it one after the other or at the same time, and what one of them leaves in its files
 * and processes is there for the next one. It ends once, for one reason.
 */

export const SANDBOX_STATES = ["creating", "running", "paused", "ended"] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];

/** Why a sandbox ended, with a sentence for people. */
export const SANDBOX_END_REASONS = {
  client: "a client ended it",
  lifetime: "its lifetime was over",
  idle: "nobody used it, and its programs used no CPU time, for its idle time",
  memory: "its files left no memory for programs",
  suspended: "its account was suspended",
  worker_lost: "the worker or the box of the sandbox was lost",
  shutdown: "the service was stopped",
  failed: "its box could not be made",
} as const;
export type SandboxEndReason = keyof typeof SANDBOX_END_REASONS;
export const SANDBOX_END_REASON_NAMES = Object.keys(SANDBOX_END_REASONS) as readonly SandboxEndReason[];

/** What happens to the files of a sandbox whose lifetime or idle time is over. */
export const ON_TIMEOUT = ["end", "snapshot"] as const;
export type OnTimeout = (typeof ON_TIMEOUT)[number];

const MIB = 1_048_576;
const GIB = 1024 * MIB;

/** The limits of a sandbox, which all of its programs and files share, with their bounds. */
export const SANDBOX_LIMITS = {
  memoryBytes: { field: "memory_bytes", least: 64 * MIB, most: 4 * GIB, default: 512 * MIB },
  processes: { field: "processes", least: 8, most: 512, default: 256 },
  /** For files in memory, which count for `memoryBytes` as well. A disk has one of DISK_SIZES. */
  diskBytes: { field: "disk_bytes", least: 4 * MIB, most: 4 * GIB, default: 256 * MIB },
  inodes: { field: "inodes", least: 256, most: 65_536, default: 32_768 },
  /** To how many CPUs each execution is bound. A service can permit fewer than `most`. */
  cpus: { field: "cpus", least: 1, most: 64, default: 1 },
} as const;
export type SandboxLimitName = keyof typeof SANDBOX_LIMITS;
export type SandboxLimits = Readonly<Record<SandboxLimitName, number>> & { readonly storage: SandboxStorage };

/** Where the files of a sandbox are: in memory, or on a disk of its own (launcher/disks.h). */
export const SANDBOX_STORAGES = ["memory", "disk"] as const;
export type SandboxStorage = (typeof SANDBOX_STORAGES)[number];

/**
 * The sizes that a disk can have, in bytes: setup/disks.sh makes a template for each. To free a file of many fragments is one call that no signal ends, and
 * takes seconds for some GiB, so there are no larger ones.
 */
export const DISK_SIZES = [1, 2, 4, 8, 16].map((gib) => gib * GIB);
export const DEFAULT_DISK_BYTES = 4 * GIB;
/** A disk has one inode for so many bytes. */
export const DISK_INODE_BYTES = 16_384;

/** Bytes that the disk of a sandbox takes from the disk of its machine; 0: its files are in memory. */
export function diskOf({ storage, diskBytes }: SandboxLimits): number {
  return storage === "disk" ? diskBytes : 0;
}

/** The bounds of what else a request may set. */
export const SANDBOX_BOUNDS = {
  lifetimeSecs: { least: 1, most: 86_400, default: 3_600 },
  idleSecs: { least: 1, most: 86_400, default: 600 },
  /** `bytes`: all names and values together, in bytes of UTF-8. */
  metadata: { entries: 32, keyCharacters: 64, valueCharacters: 512, bytes: 4_096 },
  /** Each name with its value, and all of them, in bytes of UTF-8. */
  env: { entries: 20, variableBytes: 16_000, bytes: 32_768 },
} as const;

/** A validated request for a sandbox. */
export interface SandboxRequest {
  readonly limits: SandboxLimits;
  /** From its start to its end, also while it is paused. */
  readonly lifetimeSecs: number;
  /** How long nobody uses it before it ends: no request, no reader, and hardly any CPU time of its programs. */
  readonly idleSecs: number;
  /** Variables of the environment of all executions. They can be secrets, so they are stored only encrypted, until its end. */
  readonly env: Readonly<Record<string, string>>;
  /** Names and values that the client chose, to find its sandboxes. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The snapshot whose files it begins with; null: it begins with the files of the image. */
  readonly from: string | null;
  readonly onTimeout: OnTimeout;
  /** What its programs may reach over the network. */
  readonly network: NetworkPolicy;
}

/**
 * What a sandbox can ask for that not every process knows which has sandboxes: during an upgrade, services of the next release share the database with workers
 * of this one. A process claims, and takes over, only sandboxes that need no higher number than its own release has. A new field of requests that a process
 * must know to make the sandbox is a new row, with the next number; without it, an older process would ignore the field.
 */
const FEATURES: readonly {
  readonly number: number;
  readonly isAsked: (sandbox: Pick<Sandbox, "limits" | "network">) => boolean;
}[] = [
  { number: 1, isAsked: ({ limits }) => limits.storage === "disk" },
  { number: 2, isAsked: ({ network }) => hasNetwork(network) },
];

/** The highest number of a feature of sandboxes that this release knows. */
export const SANDBOX_FEATURES = Math.max(...FEATURES.map(({ number }) => number));

/** The highest number of a feature that the sandbox asks for; 0: every process knows what it asks for. */
export function neededFeatures(sandbox: Pick<Sandbox, "limits" | "network">): number {
  return Math.max(0, ...FEATURES.filter(({ isAsked }) => isAsked(sandbox)).map(({ number }) => number));
}

/** What proves how the box of a sandbox was built and removed. */
export interface SandboxEvidence {
  /** Controls that were read back from the kernel before the first execution. */
  readonly controls: readonly string[];
  readonly controlsMissing: readonly string[];
  /** Null until the box is removed, and if it was lost. */
  readonly teardown: TeardownReport | null;
}

/** All times are milliseconds since the epoch, UTC. */
export interface Sandbox {
  readonly id: string;
  readonly accountId: string;
  readonly projectId: string | null;
  readonly keyId: string;
  readonly state: SandboxState;
  readonly createdAtMs: number;
  /** When its box was ready; null before. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly endReason: SandboxEndReason | null;
  readonly lifetimeSecs: number;
  readonly idleSecs: number;
  readonly limits: SandboxLimits;
  readonly metadata: Readonly<Record<string, string>>;
  /** The process that has it; empty while it waits for one. */
  readonly worker: string;
  /** Null until its box is ready. */
  readonly evidence: SandboxEvidence | null;
  /** The snapshot whose files it began with; null if there was none. */
  readonly from: string | null;
  readonly onTimeout: OnTimeout;
  /** What its programs may reach over the network now. Its version is 1 at first, and one higher after each replacement. */
  readonly network: VersionedPolicy;
  /** The snapshot that was taken at the end of its time; null if there is none. */
  readonly lastSnapshotId: string | null;
  /** Why that snapshot could not be taken, for people; null if it could, or was not wanted. */
  readonly lastSnapshotError: string | null;
}

/** When the lifetime of the sandbox is over; null before its start. */
export function expiresAtMs({ startedAtMs, lifetimeSecs }: Sandbox): number | null {
  return startedAtMs === null ? null : startedAtMs + lifetimeSecs * 1000;
}

/** A new sandbox of this caller: `creating`, with a fresh id. @param worker the process that will have it; empty: one that claims it. */
export function newSandbox(request: SandboxRequest, caller: Caller, worker: string, nowMs: number): Sandbox {
  return {
    id: randomUUID(),
    accountId: caller.accountId,
    projectId: caller.projectId,
    keyId: caller.keyId,
    state: "creating",
    createdAtMs: nowMs,
    startedAtMs: null,
    endedAtMs: null,
    endReason: null,
    lifetimeSecs: request.lifetimeSecs,
    idleSecs: request.idleSecs,
    limits: request.limits,
    metadata: request.metadata,
    worker,
    evidence: null,
    from: request.from,
    onTimeout: request.onTimeout,
    network: { version: 1, network: request.network },
    lastSnapshotId: null,
    lastSnapshotError: null,
  };
}

/** Identifies a request for idempotency keys; the order of names makes no difference. @returns a SHA-256, in hexadecimal. */
export function sandboxRequestHash({
  limits,
  lifetimeSecs,
  idleSecs,
  env,
  metadata,
  from,
  onTimeout,
  network,
  ...others
}: SandboxRequest): string {
  others satisfies Record<string, never>; // a new field must become part of the hash
  const sorted = (values: object) => Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
  const { storage, ...numbers } = limits;
  const fields = [
    "sandbox",
    sorted(storage === "memory" ? numbers : limits),
    lifetimeSecs,
    idleSecs,
    sorted(env),
    sorted(metadata),
  ];
  // The hash of a request without these fields is that of earlier releases.
  if (from !== null || onTimeout !== "end") fields.push(from ?? "", onTimeout);
  if (network !== "none") fields.push("network", JSON.stringify(toNetworkJson(network)));
  return createHash("sha256").update(JSON.stringify(fields), "utf8").digest("hex");
}

/** Why a request to a sandbox was refused, and what the answer names. */
export interface SandboxRefusals {
  /** This process has no sandboxes. */
  sandboxesOff: Record<string, never>;
  /** Another process has the sandbox, and this one has no link to it. */
  sandboxElsewhere: Record<string, never>;
  /** The link to the process that has the sandbox is lost, or that process does not answer. */
  sandboxUnreachable: Record<string, never>;
  /** There is no such sandbox of the account. */
  sandboxNotFound: Record<string, never>;
  sandboxEnded: { readonly reason: SandboxEndReason };
  /** There is no such snapshot of the account. */
  snapshotNotFound: Record<string, never>;
  /** Another machine has the snapshot. */
  snapshotElsewhere: Record<string, never>;
  /** The archive is not the one that was written. */
  snapshotDamaged: Record<string, never>;
  /** The account has as many snapshots, or as many bytes of them, as its tier permits. */
  snapshotQuota: { readonly what: "snapshots" | "bytes of snapshots"; readonly most: number };
  /** The machine has no room for another snapshot of this account now. */
  snapshotsFull: Record<string, never>;
  /** The files of the snapshot do not fit into the limits of the new sandbox. */
  snapshotTooLarge: { readonly limit: "disk or inodes" | "memory" };
  /** The files of the sandbox could not be read. */
  snapshotFailed: { readonly why: string };
  /** The process that has the sandbox is stopping, and the next one takes the sandbox over. */
  sandboxMoving: Record<string, never>;
  /** The request needs a sandbox that runs. */
  sandboxPaused: Record<string, never>;
  /** The account has as many sandboxes, or as much of their memory or disks, as its tier permits. */
  sandboxQuota: { readonly what: "sandboxes" | "memory" | "disks" | "executions"; readonly most: number };
  /** The machine has no room for another sandbox of this account now. */
  sandboxesFull: Record<string, never>;
  /** The operator permits an execution fewer CPUs. */
  sandboxCpus: { readonly most: number };
  /** The operator permits smaller disks, or none: `most` is 0. */
  sandboxDisk: { readonly most: number };
  /** No process that could have the sandbox can give it a network. */
  networkOff: Record<string, never>;
  /** The policy is beyond the network bound of the project or account. */
  networkForbidden: { readonly reason: string };
  /** The sandbox was created without a network, and has none for good. */
  sandboxWithoutNetwork: Record<string, never>;
  /** The sandbox or the machine has no room for another execution or file request now. */
  executionsFull: Record<string, never>;
  executionNotFound: Record<string, never>;
  executionEnded: Record<string, never>;
  /** The execution was started without `open_input`, or its input was ended. */
  takesNoInput: Record<string, never>;
  /** Too much input waits for the program, which does not read it. */
  inputFull: { readonly bytes: number };
  /** The execution has no terminal whose size could change. */
  noTerminal: Record<string, never>;
  /** The idempotency key was used for another request. */
  idempotencyConflict: Record<string, never>;
  /** The key of the request is no longer valid. */
  keyRevoked: Record<string, never>;
  accountSuspended: Record<string, never>;
}
export type SandboxRefusalCode = keyof SandboxRefusals;

/** A request was refused for a reason that the client may know. */
export class SandboxRefused<Code extends SandboxRefusalCode = SandboxRefusalCode> extends Error {
  readonly code: Code;
  readonly details: SandboxRefusals[Code];

  constructor(
    code: Code,
    ...[details]: SandboxRefusals[Code] extends Record<string, never> ? [] : [SandboxRefusals[Code]]
  ) {
    super(code);
    this.name = "SandboxRefused";
    this.code = code;
    this.details = (details ?? {}) as SandboxRefusals[Code];
  }

  /** Whether the error refuses a request with this code. */
  static is<C extends SandboxRefusalCode>(error: unknown, code: C): error is SandboxRefused<C> {
    return error instanceof SandboxRefused && error.code === code;
  }
}
