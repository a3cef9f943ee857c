import type { TestState } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge, LocalRun } from "../worker/judge-locally.ts";
import { type About, type FormatVerdict, readExpectations } from "./expectations.ts";
import type { PackageFiles } from "./files.ts";
import type { ProblemPackage } from "./package.ts";
import { type Source, toProgram } from "./source.ts";
import { type Timed, type TimeLimit, timeLimit } from "./timing.ts";

export const SUBMISSIONS = "submissions/";

/** A submission that ran, with its own bytes. */
export interface Judged extends Timed {
  readonly language: Language;
  readonly bytes: number;
}

/** Runs the submissions of a package on its tests. */
export class SubmissionJudge {
  readonly #problem: ProblemPackage;
  readonly #judge: LocalJudge;
  readonly #languages: Languages;
  readonly #about: (path: string) => About;

  constructor(files: PackageFiles, problem: ProblemPackage, judge: LocalJudge, languages: Languages) {
    this.#problem = problem;
    this.#judge = judge;
    this.#languages = languages;
    this.#about = readExpectations(files, problem.format);
  }

  aboutOf({ path }: Source): About {
    return this.#about(path.slice(SUBMISSIONS.length));
  }

  /** @returns null if no installed language has the submission. @throws SandboxError if the slot is lost, PackageError. */
  async run(source: Source, onRun?: (run: LocalRun) => void): Promise<Judged | null> {
    const about = this.aboutOf(source);
    const found = toProgram(source, this.#languages, about);
    if (!found) return null;
    const { definition, checker, tests } = this.#problem;
    const local = { definition, checker, contents: (test: number) => tests[test]?.contents() ?? [] };
    const how = { language: found.language, profile: "judge", stop: "never" } as const;
    const result = await this.#judge.judge(found.program, how, local, onRun);
    const bytes = [...source.files.values()].reduce((sum, { length }) => sum + length, 0);
    return { path: source.path, about, language: found.language, bytes, result };
  }

  /** The time limit by the rules of the format. */
  timeLimit(judged: readonly Judged[]): TimeLimit {
    const cpuMs = judged.map(({ language }) => this.#languages.limitsFor(language, "judge").execute.cpuMs);
    return timeLimit(this.#problem, judged, Math.min(...cpuMs) / 1_000);
  }
}

const FORMAT: Readonly<Partial<Record<TestState, FormatVerdict | "skipped">>> = {
  AC: "AC",
  WA: "WA",
  TLE: "TLE",
  skipped: "skipped",
};

/** In the words of the format. */
export function formatVerdict(state: TestState): FormatVerdict | "skipped" {
  return FORMAT[state] ?? "RTE";
}
