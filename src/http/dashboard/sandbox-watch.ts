import { SandboxRefused } from "../../domain/sandboxes/sandbox.ts";
import type { FoundSandbox } from "../../store/search/types.ts";
import type { Executions, SandboxDetail, SandboxUse } from "./api/sandboxes.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { toExecutions, toSandboxDetail } from "./sandbox-detail.ts";

/** Executions on a page of them. Each can have a command of 128 KiB, which is read as a whole. */
export const EXECUTIONS = 25;
/** How long what was read is given to all who ask. */
const FRESH_MS = 1_500;
/** How long the executions are kept for the next read. */
const KEPT_MS = 10_000;

/** What changes about a sandbox while it lives. */
interface Now {
  readonly use: SandboxUse | null;
  readonly executions: Executions;
  readonly mark: string;
}

interface Entry {
  readonly now: Promise<Now>;
  readonly isFresh: () => boolean;
}

/** Reads sandboxes for all viewers of this process together, so that many viewers cost as much as one. */
export class SandboxWatch {
  readonly #d: DashboardDependencies;
  readonly #entries = new Map<string, Entry>();

  constructor(d: DashboardDependencies) {
    this.#d = d;
  }

  async read(found: FoundSandbox): Promise<SandboxDetail> {
    const { id } = found.sandbox;
    const known = this.#entries.get(id);
    if (known?.isFresh()) return detailOf(found, await known.now);
    const readAtMs = performance.now();
    const entry = { now: this.#read(found, known), isFresh: () => performance.now() - readAtMs < FRESH_MS };
    this.#entries.set(id, entry);
    const remove = () => {
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
    };
    entry.now.catch(remove);
    setTimeout(remove, KEPT_MS).unref();
    return detailOf(found, await entry.now);
  }

  /** Makes the next read see a change that was just made. */
  forget(id: string): void {
    this.#entries.delete(id);
  }

  async #read({ sandbox, account }: FoundSandbox, known: Entry | undefined): Promise<Now> {
    const { store } = this.#d;
    const before = await known?.now.catch(() => undefined);
    const mark = await store.sandboxSearch.executionsMark(sandbox.id);
    const use = await this.#measure(sandbox);
    if (before?.mark === mark) return { use, mark, executions: before.executions };
    const page = await store.sandboxes.executions(sandbox.id, account.id, { max: EXECUTIONS });
    return { use, mark, executions: toExecutions(page ?? { executions: [], next: null }) };
  }

  /** @returns null if the sandbox does not live in this process. */
  async #measure({ id, accountId, state, startedAtMs }: FoundSandbox["sandbox"]): Promise<SandboxUse | null> {
    if (state === "ended" || startedAtMs === null || this.#d.sandboxes.capacity === null) return null;
    try {
      const handle = await this.#d.sandboxes.find(id, accountId);
      return { ...(await handle.measure()), atMs: Date.now() };
    } catch (error) {
      // It can end at any time.
      if (error instanceof SandboxRefused) return null;
      this.#d.log.warn({ err: error, sandbox: id }, "a sandbox could not be measured");
      return null;
    }
  }
}

function detailOf(found: FoundSandbox, { use, executions }: Now): SandboxDetail {
  // The row is newer than what was measured.
  return toSandboxDetail(found, { use: found.sandbox.state === "ended" ? null : use, executions });
}
