import type { Language } from "../domain/language.ts";
import { PROFILE_NAMES, type ProfileName } from "../domain/limits.ts";
import type { Languages } from "../languages/load.ts";
import type { Step } from "../sandbox/step.ts";
import { type Plan, plan, stepForArtifact } from "./plan.ts";

/** Parked runtimes for one kind of submissions: the steps to park, in the order in which a slot gets their PARK frames. */
export interface Preparation {
  /** Identifies the submissions: by language, profile, and whether their artifact is in the compile cache. */
  readonly kind: string;
  readonly language: string;
  readonly steps: readonly Step[];
  /**
   * Whether the start of the runtimes costs more than they save, as with a compiler that warms up. Such runtimes are started only in an
   * idle worker.
   */
  readonly costly: boolean;
}

export function kindOf(language: string, profile: ProfileName, isCompileCached: boolean): string {
  return `${language} ${profile}${isCompileCached ? " cached" : ""}`;
}

/** All preparations of these languages that start a runtime, by their kind. */
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
  if (steps.compile) ways.push([true, [stepForArtifact(steps.execute, steps.compile, [], "")]]);
  return ways
    .filter(([, parked]) => parked.some(({ command }) => command.park))
    .map(([cached, parked]) => ({
      kind: kindOf(language.name, profile, cached),
      language: language.name,
      steps: parked,
      costly: !cached && steps.compile?.command.park !== undefined,
    }));
}

function inOrder({ compile, execute }: Plan): Step[] {
  return compile ? [compile, execute] : [execute];
}
