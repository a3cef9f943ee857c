import type { CgroupBackend } from "./report.ts";

/** Whether submissions can be run with full isolation, with the checks that prove it. */
export interface Readiness {
  /** True only if a real run with every control succeeded recently. */
  readonly ready: boolean;
  readonly cgroupBackend: CgroupBackend | null;
  /** Every control and language that was tested, including failed ones. */
  readonly checks: readonly Check[];
}

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** A text for users: the observation or the missing control. No host path. */
  readonly detail: string;
  /** The full error text of a platform failure; it may name host paths, so only the log and the operator receive it. */
  readonly fault?: string;
  /** It timed out, which proves nothing about the checked object on a busy machine. */
  readonly late?: true;
  /** The platform failed, for example because its launcher was restarted. */
  readonly isPlatformFailure?: true;
}

/** A check that ended without a verdict. Clients do not receive the internal error. */
export function faultyCheck(name: string, error: unknown): Check {
  const fault = error instanceof Error ? error.message : String(error);
  return { name, ok: false, detail: "the sandbox could not be reached or built; the service's log says why", fault };
}

/** Runs submissions. */
export interface WorkerPool {
  /** Submissions that can run at the same time now; 0 if none can. */
  capacity(): number;
  /** Canonical names of the languages that passed their smoke test, in a fixed order. */
  languages(): readonly string[];
  /** The newest proof; makes a new one if that is too old. Never rejects. */
  readiness(): Promise<Readiness>;
  /** Takes no new work, lets running submissions finish or releases them, then resolves. */
  stop(): Promise<void>;
}

/** The readiness without a proof: not ready. */
export function notReady(detail: string): Readiness {
  return { ready: false, cgroupBackend: null, checks: [{ name: "engine", ok: false, detail }] };
}
