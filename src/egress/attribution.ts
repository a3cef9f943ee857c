import type { ExecutionNumber } from "./log.ts";
import type { StepState } from "./messages.ts";

/*
 * To which execution a connection of a sandbox belongs, by the id of the cgroup that made it. A sandbox uses its cgroups again: the same id can belong to one
 * execution, and a moment later to another one. So what is known is used only while no step is about to begin.
 */

/** How long a connection waits for the beginning of a step, which takes some milliseconds. */
const BEGUN_MS = 1_000;

export class Attribution {
  readonly #executions = new Map<bigint, number>();
  /** Steps that were told and have not begun. */
  readonly #beginning = new Map<number, PromiseWithResolvers<void>>();
  readonly #drain: () => void;
  readonly #begunMs: number;

  /** @param drain handles all messages that have arrived. */
  constructor(drain: () => void, begunMs = BEGUN_MS) {
    this.#drain = drain;
    this.#begunMs = begunMs;
  }

  step({ step, execution, cgroupId }: StepState): void {
    if (cgroupId === null) {
      if (!this.#beginning.has(step)) this.#beginning.set(step, Promise.withResolvers());
      return;
    }
    if (execution === null) this.#executions.delete(cgroupId);
    else this.#executions.set(cgroupId, execution);
    this.over(step);
  }

  /** The step has ended, or could not begin. Its cgroup stays known until the execution is forgotten, or another step has it. */
  over(step: number): void {
    this.#beginning.get(step)?.resolve();
    this.#beginning.delete(step);
  }

  /** What processes of an execution do from now on belongs to no execution. */
  forget(execution: number): void {
    for (const [cgroupId, known] of this.#executions) if (known === execution) this.#executions.delete(cgroupId);
  }

  /**
   * The execution to which what the cgroup has just done belongs. If a step is about to begin, a promise, which waits for that. If that takes too long, it is
   * null, because then the cgroup could be that of the step.
   */
  executionOf(cgroupId: bigint): ExecutionNumber | Promise<ExecutionNumber> {
    this.#drain();
    if (this.#beginning.size === 0) return this.#executions.get(cgroupId) ?? null;
    return this.#begun().then((isCertain) => (isCertain ? (this.#executions.get(cgroupId) ?? null) : null));
  }

  /** @returns whether all steps that are about to begin have begun, or are over. */
  async #begun(): Promise<boolean> {
    const late = Promise.withResolvers<false>();
    const timer = setTimeout(() => late.resolve(false), this.#begunMs);
    const begun = Promise.all([...this.#beginning.values()].map(({ promise }) => promise)).then(() => true);
    try {
      return await Promise.race([begun, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
