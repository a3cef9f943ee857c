import {
  checkerLimitsOf,
  combined,
  type Definition,
  earned,
  failing,
  forestOf,
  type JudgementVerdict,
  type Node,
  type TestState,
  verdictIn,
} from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import { formatVerdict, type Graded, tail } from "./compare.ts";
import { PackageError } from "./files.ts";

/** A grader of the format legacy: a program of the package that makes one result of those of the parts of a group. */
export interface Grader {
  readonly path: string;
  readonly language: Language;
  readonly program: Program;
  /** The arguments for each group that it grades. The others have the default grader. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

/** What a grader writes: a verdict and a score. */
const OUTPUT = /^(AC|WA|TLE|RTE|MLE|OLE|JE)\s+(-?\d{1,30}(?:\.\d{0,30})?|-?\.\d{1,30})\s*$/;
const VERDICTS: Readonly<Record<string, JudgementVerdict>> = {
  AC: "AC",
  WA: "WA",
  TLE: "TLE",
  RTE: "RE",
  MLE: "MLE",
  OLE: "FSE",
  JE: "IE",
};

/**
 * Grades the results of a submission, group by group. A group that breaks ends with its first part that is not accepted.
 * @param shares as for `groupScores`.
 * @returns the result of all groups, or a PackageError if the grader fails. @throws SandboxError if the slot is lost.
 */
export async function grade(
  { path, language, program, flags }: Grader,
  judge: LocalJudge,
  { tests, groups, limits = {} }: Definition,
  states: readonly TestState[],
  shares: readonly number[],
): Promise<Graded | PackageError> {
  async function resultOf(part: number | Node): Promise<Graded | null> {
    if (typeof part !== "number") return await resultOfGroup(part);
    const state = states[part] ?? "waiting";
    const verdict = verdictIn(state);
    return verdict && { verdict, score: earned(tests[part], state, shares[part] ?? 0) };
  }

  async function resultOfGroup({ group, parts }: Node): Promise<Graded | null> {
    const results: Graded[] = [];
    for (const part of parts) {
      const result = await resultOf(part);
      if (result) results.push(result);
      if (result && result.verdict !== "AC" && group.breaks) break;
    }
    if (results.length === 0) return null;
    if (results.some(({ verdict }) => verdict === "IE")) return { verdict: "IE", score: 0 };
    const args = flags.get(group.name);
    if (args) return await graded(group.name, args, results);
    const isAny = group.passes === "any" && results.some(({ verdict }) => verdict === "AC");
    const verdicts = results.map(({ verdict }) => verdict);
    const verdict = isAny || group.passes === "always" ? "AC" : (failing(verdicts, group.failsAs === "worst") ?? "AC");
    if (group.rule === "all") return { verdict, score: group.points ?? 0 };
    const scores = results.map(({ score }) => score);
    return { verdict, score: combined(group.rule, scores) };
  }

  async function graded(name: string, args: readonly string[], results: readonly Graded[]): Promise<Graded> {
    const input = results.map(({ verdict, score }) => `${formatVerdict(verdict)} ${score}\n`).join("");
    const { result, output } = await judge.run(
      language,
      checkerLimitsOf({ limits }),
      program,
      Buffer.from(input),
      args,
    );
    if (result.verdict !== "AC")
      throw new PackageError(path, `the grader ends as ${result.verdict} for ${name}${tail(result.errorMessage)}`);
    const text = String(output?.stdout ?? "");
    const [, verdict = "", score = ""] = OUTPUT.exec(text) ?? [];
    const known = VERDICTS[verdict];
    if (!known) throw new PackageError(path, `writes no verdict with a score for ${name}: ${text.slice(0, 100)}`);
    return { verdict: known, score: Number(score) };
  }

  const roots: Graded[] = [];
  try {
    for (const root of forestOf(tests, groups).roots) {
      const result = await resultOfGroup(root);
      if (result) roots.push(result);
    }
  } catch (error) {
    if (error instanceof PackageError) return error;
    throw error;
  }
  const verdicts = roots.map(({ verdict }) => verdict);
  return { verdict: failing(verdicts, false) ?? "AC", score: roots.reduce((sum, { score }) => sum + score, 0) };
}
