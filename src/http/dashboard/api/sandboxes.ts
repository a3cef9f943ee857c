import type { EgressRecord, SandboxEgressRecord } from "../../../domain/egress/egress-record.ts";
import type { Execution, TerminalSize } from "../../../domain/sandboxes/execution.ts";
import type { FileInfo } from "../../../domain/sandboxes/files.ts";
import type { SandboxMeasurement } from "../../../domain/sandboxes/host.ts";
import type { OnTimeout, Sandbox, SandboxState, SandboxStorage } from "../../../domain/sandboxes/sandbox.ts";
import type { UsageSample } from "../../../domain/sandboxes/usage.ts";
import type { TestRun } from "./judgements.ts";
import type { NetworkPolicyJson } from "./network.ts";
import type { AccountRef } from "./session.ts";
import type { Proof } from "./submissions.ts";

/**
 * GET /sandboxes?account=&project=&state=&metadata=NAME%3DVALUE&before=NEXT&limit=50 → SandboxList, newest first. `metadata` has names and
 * values like a query.
 */
export interface SandboxList {
  readonly sandboxes: readonly SandboxRow[];
  /** The value of `before` for the next page; null if there is none. A page can have fewer rows than asked for although there is a next one. */
  readonly next: string | null;
  /** How many sandboxes this service can have at the same time; null if it has none, because they are off. */
  readonly capacity: number | null;
}

export interface SandboxRow {
  readonly id: string;
  readonly state: SandboxState;
  /** Why it ended, in words; null until then. */
  readonly ended: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  readonly account: AccountRef;
  readonly project: { readonly id: string; readonly name: string } | null;
  readonly key: { readonly id: string; readonly name: string };
  readonly createdAt: string;
  readonly startedAt: string | null;
  /** When its lifetime is over; null before its start. */
  readonly expiresAt: string | null;
  readonly endedAt: string | null;
}

/** GET /sandboxes/offer → SandboxOffer: what a new sandbox can have. */
export interface SandboxOffer {
  readonly lifetimeSecs: Bounds;
  readonly idleSecs: Bounds;
  readonly memoryBytes: Bounds;
  /** For files in memory. */
  readonly diskBytes: Bounds;
  /** The sizes of disks that the service can have, in bytes, in ascending order; empty if sandboxes have no disks. */
  readonly diskSizes: readonly number[];
  /** One of `diskSizes`, unless that is empty. */
  readonly defaultDiskSize: number;
  /** Whether sandboxes can have a network. */
  readonly network: boolean;
}

export interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly default: number;
}

/** POST /sandboxes (NewSandbox) → CreatedSandbox, when it runs. The fields besides `keyId` are those of a client of the API. */
export interface NewSandbox {
  /** The API key to which the sandbox belongs. It must be live, allow the profile `agent`, and belong to an account of the person. */
  readonly keyId: string;
  readonly lifetime_secs?: number;
  readonly idle_secs?: number;
  readonly limits?: {
    readonly memory_bytes?: number;
    readonly storage?: SandboxStorage;
    readonly disk_bytes?: number;
  };
  readonly metadata?: Readonly<Record<string, string>>;
  /** Id of the snapshot whose files it begins with. */
  readonly from?: string;
  readonly on_timeout?: OnTimeout;
  /** Within the bound of the project or account of the key; by default "none". */
  readonly network?: NetworkPolicyJson;
}

export interface CreatedSandbox {
  readonly id: string;
}

/** PATCH /sandboxes/:id (SandboxTimes) → SandboxDetail. */
export interface SandboxTimes {
  /** From its start. */
  readonly lifetime_secs: number;
  readonly idle_secs: number;
}

/** GET /snapshots?account=&project=&before=NEXT&limit=100 → SnapshotList, newest first. */
export interface SnapshotList {
  readonly snapshots: readonly SnapshotRow[];
  readonly next: string | null;
  /** Whether the service has sandboxes. */
  readonly isOn: boolean;
}

/** DELETE /snapshots/:id → nothing. */
export interface SnapshotRow extends Pick<SandboxRow, "account" | "project" | "key"> {
  readonly id: string;
  /** The sandbox whose files it has, which may have been deleted. */
  readonly sandboxId: string;
  readonly name: string | null;
  /** Length of the archive. */
  readonly bytes: number;
  readonly files: number;
  readonly createdAt: string;
}

/** POST /sandboxes/:id/snapshots (NewSnapshot) → TakenSnapshot, when the snapshot is durable. */
export interface NewSnapshot {
  readonly name: string | null;
}

export interface TakenSnapshot {
  readonly id: string;
}

/**
 * GET /sandboxes/:id → SandboxDetail.
 * GET /sandboxes/:id/live → text/event-stream. It sends the event `state` (SandboxDetail) at the start and after each change, `alive` without
 * a change, and, when the sandbox has ended, `ended` with the last SandboxDetail.
 * POST /sandboxes/:id/pause, …/resume and …/end → SandboxDetail.
 */
export interface SandboxDetail {
  readonly row: SandboxRow;
  readonly limits: Sandbox["limits"];
  readonly lifetimeSecs: number;
  readonly idleSecs: number;
  /** The snapshot whose files it began with; null if there was none. */
  readonly from: string | null;
  readonly onTimeout: OnTimeout;
  readonly network: SandboxNetwork;
  /** The snapshot that was taken at the end of its time, and why one could not be taken. */
  readonly lastSnapshot: { readonly id: string | null; readonly error: string | null };
  /** What it uses now; null unless it lives in the process that responds. */
  readonly use: SandboxUse | null;
  /** The newest executions. */
  readonly executions: Executions;
  /** The controls of its box, and after its end the evidence of the teardown. */
  readonly proofs: readonly Proof[];
}

/** What the programs of a sandbox may reach. */
export interface SandboxNetwork {
  /** False: it was created without a network, and stays without one. */
  readonly hasNetwork: boolean;
  /** Of the policy: 1 at first. */
  readonly version: number;
  readonly policy: NetworkPolicyJson;
}

/**
 * GET /sandboxes/:id/egress → SandboxEgress: what it has reached until now, or until its end. `egress` is null if it has no network, or if nothing is known:
 * because its machine was lost, or because another process has it that cannot be asked.
 */
export interface SandboxEgress {
  readonly egress: SandboxEgressRecord | null;
}

export interface SandboxUse extends SandboxMeasurement {
  /** When this was measured, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** GET /sandboxes/:id/samples → UsageSamples: what it has used over its life; empty if nothing is known. */
export interface UsageSamples {
  readonly samples: readonly UsageSample[];
}

/** GET /sandboxes/:id/executions?before=NEXT → Executions, newest first. */
export interface Executions {
  readonly executions: readonly ExecutionRow[];
  readonly next: string | null;
}

export interface ExecutionRow extends Pick<Execution, "number" | "kind" | "background" | "hasTerminal" | "status"> {
  /** The beginning of the program with its arguments, or of the shell command; the language of code. */
  readonly command: string;
  readonly verdict: string | null;
  readonly cause: string | null;
  readonly startedAt: string;
  readonly completedAt: string | null;
  readonly wallMs: number | null;
  readonly cpuMs: number | null;
  readonly memoryBytes: number | null;
  /** Processes that the main program left; null while it runs, and if nothing is known. */
  readonly processesLeft: number | null;
}

/**
 * GET /sandboxes/:id/executions/:number → ExecutionDetail. POST …/kill → ExecutionDetail, when all of its processes are killed. GET /sandboxes/:id/executions/:number/output/STREAM, where STREAM is `stdout` or
 * `stderr` → the bytes, as a download.
 */
export interface ExecutionDetail {
  readonly row: ExecutionRow;
  /** The whole program with its arguments, or shell command; the language of code. */
  readonly command: string;
  readonly cwd: string;
  readonly key: { readonly id: string; readonly name: string };
  /** Null until it has ended. */
  readonly run: ExecutionRun | null;
  /** What it reached over the network; null until it has ended, and if its sandbox has no network. Programs have chosen the names. */
  readonly egress: EgressRecord | null;
}

/** How an execution ended. The outputs are whole, up to the output limit; null if they are not stored. */
export interface ExecutionRun extends Omit<TestRun, "stdout" | "stderr"> {
  readonly stdout: string | null;
  readonly stderr: string | null;
}

/**
 * GET /sandboxes/:id/executions/:number/live → text/event-stream: the output so far, then further output, and in the end `ended`. `at` is
 * the offset of `text` in the stream, in bytes.
 */
export type ExecutionLiveEvent =
  | { readonly event: "stdout" | "stderr"; readonly data: { readonly at: number; readonly text: string } }
  | { readonly event: "ended"; readonly data: ExecutionDetail };

/**
 * POST /sandboxes/:id/terminals with a TerminalSize → StartedTerminal: starts a login shell with a terminal, as an execution.
 * GET /sandboxes/:id/executions/:number/attach?stdout=OFFSET → WebSocket to an execution, as that of the API: binary messages of the page are
 * input, and those of the service are output after one byte that names the stream. Texts are JSON: of the page `resize` (TerminalSize),
 * `signal`, `end` and `kill`; of the service TerminalMessage.
 */
export type NewTerminal = TerminalSize;

export interface StartedTerminal {
  /** The number of the execution. */
  readonly number: number;
}

export type TerminalMessage =
  | { readonly type: "start"; readonly number: number; readonly stdout: number; readonly stderr: number }
  /** The next bytes are at this offset, because those before were not kept. */
  | { readonly type: "skipped"; readonly stream: "stdout" | "stderr"; readonly at: number }
  | { readonly type: "ended"; readonly execution: ExecutionRow }
  | { readonly type: "error"; readonly error: string; readonly message?: string };

/**
 * GET /sandboxes/:id/files?path=DIRECTORY&after=NEXT → FileList.
 * POST /sandboxes/:id/files/directories with FilePath, …/move with FileMove and …/remove with FileRemoval → FileInfo, or nothing.
 * GET /sandboxes/:id/files/content?path= → the bytes, as a download.
 * PUT /sandboxes/:id/files/content?path=&replace=true with the bytes, of the type application/octet-stream → FileInfo.
 */
export interface FileList {
  readonly entries: readonly FileInfo[];
  /** The value of `after` for the next page; null if there is none. */
  readonly next: string | null;
}

export interface FilePath {
  readonly path: string;
}

export interface FileMove extends FilePath {
  readonly to: string;
}

export interface FileRemoval extends FilePath {
  /** Whether a directory is removed with everything in it. */
  readonly recursive: boolean;
}

/** GET /sandboxes/:id/files/text?path= → FileText: the beginning of a file, for people. */
export interface FileText {
  readonly info: FileInfo;
  /** Null if the file is not text. Bytes that are not UTF-8 are replaced. */
  readonly text: string | null;
  /** Whether the file is longer than `text`. */
  readonly isCut: boolean;
}
