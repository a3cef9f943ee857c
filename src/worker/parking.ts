import type { Language } from "../domain/language.ts";
import { PROFILE_NAMES, type ProfileName } from "../domain/limits.ts";
import type { Languages } from "../languages/load.ts";
import type { Step } from "../sandbox/step.ts";
import { executeKept, type Plan, plan } from "./plan.ts";

/** A way to run submissions with parked runtimes: the steps to park, in the order of the PARK frames. */
export interface Preparation {
  /** Identifies submissions of one language and profile whose compile step runs, or whose artifact is kept. */
  readonly kind: string;
  readonly language: string;
  readonly steps: readonly Step[];
  /**
   * Whether the start of the runtimes costs more than they save, as that of a compiler that is warmed up: only in an idle
   * worker.
   */
  readonly costly: boolean;
}

export function kindOf(language: string, profile: ProfileName, compileKept: boolean): string {
  return `${language} ${profile}${compileKept ? " kept" : ""}`;
}

/** All preparations of these languages that start a runtime. */
export function preparations(languages: Languages): Map<string, Preparation> {
  const all = new Map<string, Preparation>();
  for (const language of languages.list())
    for (const profile of PROFILE_NAMES)
      for (const one of preparationsOf(language, profile, languages)) all.set(one.kind, one);
  return all;
}

const NOTHING = { code: Buffer.alloc(0), stdin: Buffer.alloc(0) };

function preparationsOf(language: Language, profile: ProfileName, languages: Languages): Preparation[] {
  const steps = plan(language, languages.limitsFor(language, profile), NOTHING);
  const ways: [boolean, Step[]][] = [[false, inOrder(steps)]];
  if (steps.compile) ways.push([true, [executeKept(steps.execute, steps.compile, [])]]);
  return ways
    .filter(([, parked]) => parked.some(({ command }) => command.park))
    .map(([kept, parked]) => ({
      kind: kindOf(language.name, profile, kept),
      language: language.name,
      steps: parked,
      costly: !kept && steps.compile?.command.park !== undefined,
    }));
}

function inOrder({ compile, execute }: Plan): Step[] {
  return compile ? [compile, execute] : [execute];
}

/** Time after which a submission counts half. */
const HALF_LIFE_MS = 60_000;

/** The recent mix of submissions: exponentially decayed counts by kind. */
export class Mix {
  readonly #counts = new Map<string, { amount: number; atMs: number }>();

  add(kind: string, nowMs: number): void {
    this.#counts.set(kind, { amount: this.of(kind, nowMs) + 1, atMs: nowMs });
  }

  of(kind: string, nowMs: number): number {
    const known = this.#counts.get(kind);
    return known ? known.amount * 2 ** ((known.atMs - nowMs) / HALF_LIFE_MS) : 0;
  }
}
