import type { CgroupBackend } from "./report.ts";

/** Whether submissions can be run with full isolation, and what that was proven by. */
export interface Readiness {
  /** True only when a real run through every control has just succeeded. */
  readonly ready: boolean;
  readonly cgroupBackend: CgroupBackend | null;
  /** Every control and language that was tried, missing ones included. */
  readonly checks: readonly Check[];
}

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** For people: what was seen or what is missing. No host path. */
  readonly detail: string;
  /** Of a failure of the platform's: the whole text, for the log and the operator, because it may name host paths. */
  readonly fault?: string;
  /** Its time was over first: that says nothing of what was tried, on a machine that is busy. */
  readonly late?: true;
}

/** A check that ended in no verdict at all. Clients learn that it did, and not where. */
export function faultyCheck(name: string, error: unknown): Check {
  const fault = error instanceof Error ? error.message : String(error);
  return { name, ok: false, detail: "the sandbox could not be reached or built; the service's log says why", fault };
}

/** What runs submissions, as the rest of the service sees it. */
export interface Engine {
  /** Submissions that can be run at once now; 0 when none can. */
  workers(): number;
  /** Canonical names of the languages whose hello was AC, in a fixed order. */
  languages(): readonly string[];
  /** The newest proof; a new one is made when that is too old. Never rejects. */
  readiness(): Promise<Readiness>;
  /** Takes no new work, lets what runs finish or gives it back, then resolves. */
  stop(): Promise<void>;
}

/** Proof that cannot be had: fails closed. */
export function notReady(detail: string): Readiness {
  return { ready: false, cgroupBackend: null, checks: [{ name: "engine", ok: false, detail }] };
}
