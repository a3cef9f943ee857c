import type { CgroupBackend } from "./report.ts";

/** Whether submissions can be run with full isolation, and the checks that show it. */
export interface Readiness {
  /** True only if a real run with every control succeeded recently. */
  readonly ready: boolean;
  readonly cgroupBackend: CgroupBackend | null;
  /** Everything that was tested, such as the sandbox and each language, including what failed. */
  readonly checks: readonly Check[];
}

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was observed, or why the check failed: a text for users, without host paths. */
  readonly detail: string;
  /** The full error text of a platform failure; it may name host paths, so only the log and the operator receive it. */
  readonly fault?: string;
  /** Set if the check timed out. On a busy machine, this proves nothing about what was checked. */
  readonly late?: true;
  /** Set if the platform failed during the check, for example because the launcher was restarted. */
  readonly isPlatformFailure?: true;
}

/** A check that ended with an exception. Its text goes into `fault`, which clients do not receive. */
export function faultyCheck(name: string, error: unknown): Check {
  const fault = error instanceof Error ? error.message : String(error);
  return { name, ok: false, detail: "the sandbox could not be reached or built; the service's log says why", fault };
}

/** What runs submissions: one worker, or all workers of a database. */
export interface WorkerPool {
  /** Submissions that can run at the same time now; 0 if none can. */
  capacity(): number;
  /** Canonical names of the languages that passed their smoke test, in a fixed order. */
  languages(): readonly string[];
  /** The newest proof; makes a new one if that is too old. Never rejects. */
  readiness(): Promise<Readiness>;
  /** Ends the use of the workers. A worker takes no new work, lets running submissions finish or releases them, and then resolves. */
  stop(): Promise<void>;
}

/** The readiness if there is no proof. @param detail why there is none. */
export function notReady(detail: string): Readiness {
  return { ready: false, cgroupBackend: null, checks: [{ name: "engine", ok: false, detail }] };
}
