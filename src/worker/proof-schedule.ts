import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Check } from "../domain/readiness.ts";
import type { SelfTest } from "./self-test.ts";

/**
 * How many rounds of smoke tests there are at most while tests are interrupted and some language works. A restart of the launcher
 * between the tests must not remove languages, and a smoke test that kills its slot each time must not keep the others back.
 */
const ROUNDS_OF_PROOF = 3;
const PAUSE_MS = 1_000;
/** The first and the longest pause before the failed languages are tested again after an interruption. The pause doubles each time. */
const [PROVE_REST_MS, MOST_PROVE_REST_MS] = [10_000, 160_000];
/** Pause between two smoke tests. They then use half a percent of a core, and each of eight languages is tested every 16 minutes. */
const PROVE_NEXT_MS = 120_000;

/** Schedules the smoke tests of a worker: those of all languages before it claims submissions, and later one at a time. */
export class ProofSchedule {
  readonly #selfTest: SelfTest;
  readonly #log: Logger;
  readonly #proveNextMs: number;
  #rest: NodeJS.Timeout | undefined;
  #next: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(selfTest: SelfTest, log: Logger, proveNextMs = PROVE_NEXT_MS) {
    this.#selfTest = selfTest;
    this.#log = log;
    this.#proveNextMs = proveNextMs;
  }

  /** Resolves when at least one language works and no more rounds are needed. @returns false if `stop` was called before. */
  async first(): Promise<boolean> {
    for (let round = 1; !this.#stopping; round++) {
      const checks = await this.#selfTest.proveAll();
      this.#logFailures(checks);
      const isRepeated = this.#selfTest.interrupted && round < ROUNDS_OF_PROOF;
      if (checks.some(({ ok }) => ok) && !isRepeated) break;
      await sleep(PAUSE_MS);
    }
    return !this.#stopping;
  }

  /** Begins to test the failed languages again, if tests were interrupted, and to test all languages in turn. */
  start(): void {
    this.#proveRestLater();
    this.#proveNextLater();
  }

  stop(): void {
    this.#stopping = true;
    clearTimeout(this.#rest);
    clearTimeout(this.#next);
    this.#selfTest.close();
  }

  #logFailures(checks: readonly Check[]): void {
    for (const { name, ok, detail, fault } of checks)
      if (!ok) this.#log.error({ language: name, detail: fault ?? detail }, "not offered");
  }

  /** Repeats the smoke tests of the failed languages until no test was interrupted. */
  #proveRestLater(pauseMs = PROVE_REST_MS): void {
    if (this.#stopping || !this.#selfTest.interrupted) return;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(async () => {
      this.#logFailures(await this.#selfTest.proveRest());
      this.#proveRestLater(Math.min(2 * pauseMs, MOST_PROVE_REST_MS));
    }, pauseMs);
  }

  /** Tests the languages again in turn, because a language can be damaged after its first test. */
  #proveNextLater(): void {
    if (this.#stopping) return;
    this.#next = setTimeout(async () => {
      const changed = await this.#selfTest.proveNext();
      if (changed?.ok) this.#log.info({ language: changed.name }, "offered again");
      else if (changed) {
        this.#logFailures([changed]);
        this.#proveRestLater();
      }
      this.#proveNextLater();
    }, this.#proveNextMs);
  }
}
