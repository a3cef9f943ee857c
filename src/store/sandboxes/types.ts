import type { SandboxEgressRecord } from "../../domain/egress/egress-record.ts";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import type { Sandbox, SandboxEndReason, SandboxEvidence, SandboxState } from "../../domain/sandboxes/sandbox.ts";
import type { UsageSample } from "../../domain/sandboxes/usage.ts";

/** What the tier of an account permits for its sandboxes. */
export interface SandboxQuota {
  /** Sandboxes at the same time. */
  readonly sandboxes: number;
  /** Memory of all of them together, by their limits. */
  readonly memoryBytes: number;
  /** Disks of all of them together. */
  readonly diskBytes: number;
  /** Executions and requests for files at the same time, in all of them. */
  readonly executions: number;
}

export interface NewSandboxRow {
  readonly sandbox: Sandbox;
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  readonly leaseUntilMs: number;
  /** Whether only a sandbox with the idempotency key is looked for, because there is no room for another one. */
  readonly onlyKnown: boolean;
  /** The service that waits for a process that claims the sandbox, if it waits for one. */
  readonly service?: string;
}

export type Created =
  | { readonly kind: "created"; readonly quota: SandboxQuota }
  /** The idempotency key is known, with the same request. */
  | { readonly kind: "duplicate"; readonly sandbox: Sandbox }
  | { readonly kind: "conflict" }
  | { readonly kind: "quota"; readonly what: "sandboxes" | "memory" | "disks"; readonly most: number }
  /** Its policy is not within the network bound of the project or account. `reason`: which part of it, in words. */
  | { readonly kind: "network"; readonly reason: string }
  /** `onlyKnown` is set, and there is no sandbox with the key. */
  | { readonly kind: "unknown" }
  | { readonly kind: "revoked" }
  | { readonly kind: "suspended" };

/** What has changed about a sandbox that has not ended. */
export interface SandboxUpdate extends Partial<Pick<Sandbox, "lifetimeSecs" | "idleSecs" | "metadata">> {
  readonly state?: Exclude<SandboxState, "ended">;
  readonly startedAtMs?: number;
  readonly evidence?: SandboxEvidence;
  readonly kept?: KeptSandbox;
}

/** What the next process of the machine needs to take over a sandbox. */
export interface KeptSandbox {
  /** The launcher that has its box. */
  readonly launcher: string;
  /** A secret, sealed for the id of the sandbox. */
  readonly sealed: Buffer;
}

/** A sandbox that another process has, or had. */
export interface LeftSandbox {
  readonly sandbox: Sandbox;
  readonly sealed: Buffer;
  /** Whether its worker was stopped and has left it, and did not crash. */
  readonly isLeft: boolean;
}

/** A worker takes over a sandbox of another one. */
export interface Takeover {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly leaseUntilMs: number;
}

/** A sandbox that a process has taken over. */
export interface TakenOver {
  readonly sandbox: Sandbox;
  readonly quota: SandboxQuota;
  /** The bytes that earlier processes leased of its budgets, and did not give back. They count as used. */
  readonly leased: { readonly up: number; readonly down: number };
  /** The stored executions, which have all ended, in the order of their ends. `bytes`: of output, egress and request. */
  readonly executions: readonly { readonly number: number; readonly bytes: number }[];
}

/** The end of a sandbox. */
export interface SandboxEnd {
  readonly reason: SandboxEndReason;
  readonly endedAtMs: number;
  /** Null: what is stored stays. */
  readonly evidence: SandboxEvidence | null;
  /** The snapshot that was taken at the end of its time, or why there is none; absent: none was to be taken. */
  readonly lastSnapshot?: { readonly id: string } | { readonly error: string } | undefined;
  /** Numbers of executions that are deleted; by default, none. */
  readonly drop?: readonly number[];
  /** What it has used; by default, nothing is known. */
  readonly usage?: readonly UsageSample[];
  /** What it has reached over the network; by default, nothing is known. */
  readonly egress?: SandboxEgressRecord | null;
}

/** What became of a new network policy of a sandbox. */
export type NetworkReplaced =
  | { readonly kind: "replaced"; readonly sandbox: Sandbox }
  /** It is not within the network bound of the project or account. `reason`: which part of it, in words. */
  | { readonly kind: "network"; readonly reason: string }
  /** The sandbox was created without a network. */
  | { readonly kind: "without" }
  /** It has ended, or another worker has it. */
  | { readonly kind: "lost" };

/** A sandbox that waits for a process that claims it. */
export type WaitingSandbox = Pick<Sandbox, "id" | "accountId" | "limits"> & { readonly hasNetwork: boolean };

/** A sandbox that a process has claimed. */
export interface ClaimedSandbox {
  readonly sandbox: Sandbox;
  readonly quota: SandboxQuota;
}

/** A sandbox of a worker whose lease was renewed. */
export interface RenewedSandbox {
  readonly id: string;
  readonly accountId: string;
  readonly isSuspended: boolean;
  readonly quota: SandboxQuota;
  /** The version of its network policy. A narrowed bound replaces the policy without the worker. */
  readonly networkVersion: number;
}

/**
 * Whether an execution was stored; `lost`: its sandbox has ended, or another worker has it; `full`: as many executions of the account run, in
 * all processes together, as its tier permits.
 */
export type ExecutionBegun = "begun" | "lost" | "full" | "revoked" | "suspended";

export interface BeginOptions {
  /** A key that must still be valid, and whose account must not be suspended; null: nothing is checked. */
  readonly keyId: string | null;
  /**
   * Whether nobody hears of the execution before its end is stored. Then its beginning need not wait for the disk: it survives the end of
   * the process, and a power failure, which ends the sandbox as well, can only lose an execution that nobody was told of.
   */
  readonly isAwaited: boolean;
}

/** An execution that ends. */
export interface EndedExecution {
  /** With an outcome. */
  readonly execution: Execution;
  /** Numbers of other executions of the sandbox that have ended, which are deleted. */
  readonly drop: readonly number[];
}

/** Lists are newest first. */
export interface SandboxList {
  readonly state?: SandboxState | undefined;
  /** Names that must have these values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** `next` of the previous page. */
  readonly before?: number | undefined;
  readonly max: number;
}

export interface SandboxPage {
  readonly sandboxes: readonly Sandbox[];
  /** Null if there is nothing more. A page can have fewer than `max` sandboxes although there are more. */
  readonly next: number | null;
}

export interface ExecutionPage {
  /** Without outputs: only `output` of their outcomes is null. */
  readonly executions: readonly Execution[];
  /** The number of the last one, if there are more. */
  readonly next: number | null;
}
