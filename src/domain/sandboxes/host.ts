import type { SandboxEgressRecord } from "../egress/egress-record.ts";
import type { NetworkPolicy } from "../egress/policy.ts";
import type { Caller } from "../submission.ts";
import type { Execution, ExecutionRequest, SignalName } from "./execution.ts";
import type { SandboxFiles } from "./files.ts";
import { diskOf, type Sandbox, type SandboxLimits, SandboxRefused, type SandboxRequest } from "./sandbox.ts";
import type { Snapshot } from "./snapshot.ts";
import type { UsageSample } from "./usage.ts";

/*
 * What a process that has sandboxes offers to its clients' side. Methods throw SandboxRefused (sandbox.ts) where a request is refused, and
 * other errors where the platform has failed.
 */

/** What a sandbox uses now. */
export interface SandboxMeasurement {
  readonly memoryBytes: number;
  readonly memoryPeakBytes: number;
  /** CPU time of all programs since its start. */
  readonly cpuUsec: number;
  readonly processes: number;
  /** Processes that the kernel killed because the sandbox reached its own memory limit. */
  readonly oomKills: number;
  readonly diskBytes: number;
  readonly inodes: number;
}

export interface SandboxCapacity {
  readonly sandboxes: number;
  readonly memoryBytes: number;
  /** The largest `cpus` that a sandbox may ask for. */
  readonly cpus: number;
  /** Of all disks together; 0: sandboxes have none. */
  readonly diskBytes: number;
  /** Whether sandboxes can have a network. */
  readonly network: boolean;
}

/** What a sandbox needs that not every process has. */
export interface SandboxNeeds {
  readonly limits: SandboxLimits;
  readonly hasNetwork: boolean;
}

export function needsOf({ limits, network }: Pick<SandboxRequest, "limits" | "network">): SandboxNeeds {
  return { limits, hasNetwork: network !== "none" };
}

/** Why a process with this capacity can never have a sandbox that needs this, however few others it has; null if it can. */
export function beyondCapacity(
  { limits, hasNetwork }: SandboxNeeds,
  { cpus, diskBytes, network }: SandboxCapacity,
): SandboxRefused | null {
  if (limits.cpus > cpus) return new SandboxRefused("sandboxCpus", { most: cpus });
  if (diskOf(limits) > diskBytes) return new SandboxRefused("sandboxDisk", { most: diskBytes });
  return hasNetwork && !network ? new SandboxRefused("networkOff") : null;
}

export interface SandboxHost {
  /** What the processes whose sandboxes it offers can have at the same time; null if there is none. */
  readonly capacity: SandboxCapacity | null;

  /**
   * Creates a sandbox. It resolves when the sandbox runs and is durable. With an idempotency key that the caller has used for the same
   * request, it resolves with that sandbox, in whatever state.
   * @throws SandboxRefused: sandboxesOff, sandboxCpus, sandboxDisk, networkOff, networkForbidden, sandboxQuota, sandboxesFull, idempotencyConflict, sandboxUnreachable; with `from`, also snapshotNotFound, snapshotElsewhere,
   * snapshotDamaged, snapshotTooLarge, snapshotsFull.
   */
  create(request: SandboxRequest, caller: Caller, idempotencyKey: string | null): Promise<Sandbox>;

  /** @throws SandboxRefused: sandboxesOff, sandboxNotFound, sandboxEnded, sandboxElsewhere, sandboxUnreachable. */
  find(id: string, accountId: string): Promise<SandboxHandle>;

  /** Removes a snapshot. Sandboxes that are just beginning with it get all of its files. @throws SandboxRefused: sandboxesOff, snapshotNotFound. */
  removeSnapshot(id: string, accountId: string): Promise<Snapshot>;
}

/**
 * A sandbox that has not ended. Each method can throw SandboxRefused with sandboxEnded; if another process has the sandbox, also with
 * sandboxUnreachable, and then nobody knows whether the method had an effect.
 */
export interface SandboxHandle {
  readonly sandbox: Sandbox;

  /** Marks that a request or a reader uses the sandbox, so that it is not idle. @returns ends the use; a second call has no effect. */
  use(): () => void;

  /**
   * Starts an execution. It resolves when the execution is stored, before which nothing starts.
   * @throws SandboxRefused: sandboxPaused, executionsFull, sandboxQuota; keyRevoked or accountSuspended for the key of the options.
   */
  execute(request: ExecutionRequest, options?: ExecuteOptions): Promise<RunningExecution>;

  /** An execution that runs, or whose end is not stored yet; null: its row is in the store, if there is one. */
  execution(number: number): Promise<RunningExecution | null>;

  /** Requests for files: SandboxRefused with sandboxPaused or executionsFull, or FileError. */
  readonly files: SandboxFiles;

  /** Freezes all programs, and stops their clocks. The lifetime goes on. It does nothing if the sandbox is paused. */
  pause(): Promise<Sandbox>;
  /** Continues all programs. It does nothing if the sandbox runs. */
  resume(): Promise<Sandbox>;
  /**
   * Takes a snapshot of the files. All programs stand still until they are read; they then go on, if the sandbox is not paused. It resolves when
   * the snapshot is durable.
   * @throws SandboxRefused: snapshotQuota, snapshotsFull, snapshotFailed, keyRevoked.
   */
  snapshot(name: string | null, keyId: string): Promise<Snapshot>;
  /** @param change what is absent stays. `metadata` replaces all of it. */
  change(change: SandboxChange): Promise<Sandbox>;
  /**
   * Replaces the network policy, which then has the next version. It is stored first, and holds for everything that is decided after this resolves.
   * Connections that it does not allow are ended.
   * @throws SandboxRefused: sandboxWithoutNetwork, networkForbidden.
   */
  replaceNetwork(policy: NetworkPolicy): Promise<Sandbox>;
  /** What it has reached over the network so far; null if it has no network. */
  egress(): Promise<SandboxEgressRecord | null>;
  /** Ends the sandbox, as a client. It resolves when it is removed and that is durable. @returns its last state. */
  end(): Promise<Sandbox>;
  measure(): Promise<SandboxMeasurement>;
  /** What it has used so far, oldest first; it measures nothing. */
  usage(): Promise<readonly UsageSample[]>;
}

export interface ExecuteOptions {
  /** The key of the request, which must be valid when the execution is stored; by default that of the sandbox, which is not checked. */
  readonly keyId?: string;
  /**
   * Whether nobody hears of the execution before `ended` or `confirm()` resolves. Only these then wait for the disk. By default, the call
   * itself does.
   */
  readonly isAwaited?: boolean;
}

export interface SandboxChange {
  /** The new lifetime, from the start of the sandbox. */
  readonly lifetimeSecs?: number;
  readonly idleSecs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What a reader of an execution gets. */
export type ExecutionEvent =
  | {
      readonly type: "output";
      readonly stream: "stdout" | "stderr";
      /** The offset of the first byte in the stream. Between two events it can jump: then the bytes between were not kept. */
      readonly at: number;
      readonly bytes: Buffer;
    }
  | { readonly type: "end"; readonly execution: Execution };

export interface RunningExecution {
  readonly number: number;
  /** Its present state; without an outcome until it has ended. */
  readonly execution: Execution;

  /**
   * Follows the output from these offsets on, and then the end. Bytes of an event are the caller's. A slow reader delays neither the
   * program nor other readers. It ends when `over` aborts.
   */
  follow(from: { readonly stdout: number; readonly stderr: number }, over: AbortSignal): AsyncIterable<ExecutionEvent>;

  /** Gives input. It resolves when the engine has it. @throws SandboxRefused: takesNoInput, executionEnded, inputFull. */
  input(bytes: Buffer): Promise<void>;
  /** Ends the input. It has no effect on a terminal: send 0x04 there. */
  endInput(): Promise<void>;
  /** Sends a signal to the main program. @throws SandboxRefused: executionEnded, sandboxPaused. */
  signal(name: SignalName): Promise<void>;
  /** @throws SandboxRefused: noTerminal, executionEnded. */
  resize(rows: number, cols: number): Promise<void>;
  /** Kills all of its processes. It resolves with the end of the execution. */
  kill(): Promise<void>;

  /** The execution with its outcome, when that is durable. It never rejects. */
  readonly ended: Promise<Execution>;

  /**
   * Says that the client knows of the execution, and does not wait for its end any more: of one with `isAwaited`, that is then a message for webhooks. It
   * resolves when it is durable that the execution exists.
   */
  confirm(): Promise<void>;
}
