import type { Cidr } from "../domain/egress/cidr.ts";
import type { EgressHost, EgressRecord } from "../domain/egress/egress-record.ts";
import type { StreamOutcome } from "../domain/egress/outcomes.ts";
import type { VersionedPolicy } from "../domain/egress/policy.ts";
import type { SandboxTotals } from "./sandbox-egress.ts";

/*
 * What the process and the thread of its proxy say to each other (egress-thread.ts, thread.ts). All messages are structured clones, and arrive in order.
 */

/** Bytes in both directions. */
export interface UpDown {
  readonly up: number;
  readonly down: number;
}

export type Direction = keyof UpDown;

/**
 * A step of a sandbox, by which its proxy knows to which execution a connection belongs. A step is told before the launcher hears of it, and its cgroup before
 * its program runs; so whoever reads all messages first knows each cgroup in which a program can have connected.
 */
export interface StepState {
  readonly step: number;
  /** Null: a step of the platform, such as one for files. */
  readonly execution: number | null;
  /** The id of its cgroup; null while the step has not begun. */
  readonly cgroupId: bigint | null;
}

/** What the process asks the thread to do, and what it answers. Each names a sandbox by its token. */
export interface Calls {
  register: {
    readonly args: {
      readonly policy: VersionedPolicy;
      readonly used: UpDown;
      readonly steps: readonly StepState[];
    };
    readonly result: null;
  };
  policy: { readonly args: { readonly policy: VersionedPolicy }; readonly result: null };
  /** The record as of now; with null, of what belongs to no execution. */
  record: { readonly args: { readonly execution: number | null }; readonly result: EgressRecord };
  /** The record at the end of an execution, which is then forgotten. */
  take: { readonly args: { readonly execution: number; readonly waitMs: number }; readonly result: EgressRecord };
  totals: { readonly args: null; readonly result: SandboxTotals };
  hosts: { readonly args: null; readonly result: readonly EgressHost[] };
  /** Ends the network of the sandbox, and gives back what is leased. */
  close: { readonly args: null; readonly result: null };
}

export type CallName = keyof Calls;

export type ToThread =
  | {
      [Name in CallName]: {
        readonly kind: "call";
        readonly id: number;
        readonly name: Name;
        readonly token: string;
        readonly args: Calls[Name]["args"];
      };
    }[CallName]
  | { readonly kind: "step"; readonly token: string; readonly state: StepState }
  /** The step has ended, or could not begin. */
  | { readonly kind: "stepOver"; readonly token: string; readonly step: number }
  | { readonly kind: "lent"; readonly id: number; readonly lease: { readonly bytes: number; readonly day: string } }
  | { readonly kind: "takenBack"; readonly id: number }
  | { readonly kind: "lenderFailed"; readonly id: number }
  /** Ends all connections and the thread. */
  | { readonly kind: "stop" };

export type FromThread =
  | { readonly kind: "listening" }
  | { readonly kind: "answer"; readonly id: number; readonly result: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly message: string }
  | {
      readonly kind: "lease";
      readonly id: number;
      readonly token: string;
      readonly direction: Direction;
      readonly wanted: number;
    }
  | {
      readonly kind: "giveBack";
      readonly id: number;
      readonly token: string;
      readonly direction: Direction;
      readonly day: string;
      readonly unused: number;
    }
  /** What happened since the last of these messages, and how many connections are open now. */
  | {
      readonly kind: "traffic";
      readonly over: Readonly<Partial<Record<StreamOutcome, number>>>;
      readonly bytes: UpDown;
      readonly open: number;
    }
  /** The server of the proxy failed, and goes on. */
  | { readonly kind: "trouble"; readonly message: string };

/** What the thread is started with. */
export interface ThreadSettings {
  /** The path of the proxy's socket. */
  readonly path: string;
  /** Networks that sandboxes may reach although they are not public. */
  readonly privateNetworks: readonly Cidr[];
  /** `ADDRESS:PORT` of the name servers; null: those of the system. */
  readonly nameServers: readonly string[] | null;
}
