import type { Execution } from "../../../domain/sandboxes/execution.ts";
import type { Sandbox, SandboxState } from "../../../domain/sandboxes/sandbox.ts";
import type { ReserveMemory } from "../../../store/submissions/types.ts";

/** Which entries of a list are read: those before the number `before`, newest first. */
export interface Page {
  readonly before: number | undefined;
  readonly max: number;
}

/** What the store has of sandboxes and executions, also of those that have ended. */
export interface SandboxRecords {
  get(id: string, accountId: string): Promise<Sandbox | undefined>;
  /** `seq` numbers the sandboxes of all accounts. */
  list(
    accountId: string,
    which: Page & { readonly state?: SandboxState | undefined; readonly metadata: Readonly<Record<string, string>> },
  ): Promise<readonly (Sandbox & { readonly seq: number })[]>;
  /** Without the output and the evidence of the executions. */
  executions(id: string, accountId: string, page: Page): Promise<readonly Execution[]>;
  execution(id: string, accountId: string, number: number, admit?: ReserveMemory): Promise<Execution | undefined>;
}
