import {
  combined,
  type Definition,
  earned,
  failing,
  forestOf,
  type JudgementVerdict,
  MAX_POINTS,
  type Node,
  type TestState,
  verdictIn,
} from "./judgement.ts";
import type { Outcome } from "./outcome.ts";

/** The result of a test or a group. */
export interface Graded {
  readonly verdict: JudgementVerdict;
  readonly score: number;
}

/** What the grader of a problem has made of the results of a judgement. */
export interface Grading {
  /** The result of each group that has results. Empty if there is a fault. */
  readonly groups: Readonly<Record<string, Graded>>;
  /** Why the grader gave no result; null if it gave one. */
  readonly fault: string | null;
}

/** The results of the tests of a judgement that has ended. */
export interface EndedTests {
  readonly definition: Definition;
  readonly states: readonly TestState[];
  /** As for `groupScores`. */
  readonly shares: readonly number[];
}

/** Runs the grader with these arguments and this input. */
export type RunGrader = (args: readonly string[], input: Buffer) => Promise<Outcome>;

/**
 * After this time, no further run of the grader begins. It includes compile steps and the ends of boxes, because the claim holds its slot
 * meanwhile. The last run can take as long as the checker of a test, so a claim takes no longer than that of another run of a judgement.
 */
const MAX_GRADING_SECS = 60;

/** Whether a grader has to make results: no IE or CE has ended the judgement, and a group that it grades has a result. */
export function needsGrader({ definition, states }: Pick<EndedTests, "definition" | "states">): boolean {
  if (!definition.grader || states.some((state) => state === "IE" || state === "CE")) return false;
  const hasResult = ({ group, parts }: Node, isGraded: boolean): boolean =>
    parts.some((part) =>
      typeof part === "number"
        ? (isGraded || group.grader !== undefined) && verdictIn(states[part] ?? "waiting") !== null
        : hasResult(part, isGraded || group.grader !== undefined),
    );
  return forestOf(definition.tests, definition.groups).roots.some((root) => hasResult(root, false));
}

/**
 * Grades the results of a judgement, group by group. A group that breaks ends with its first part that is not accepted.
 * @param nowMs a clock, in milliseconds.
 * @returns also the outcome of the last run of the grader; undefined if no group needed it. If the platform failed in that run, the grading
 * proves nothing.
 */
export async function grade(
  { definition: { tests, groups }, states, shares }: EndedTests,
  run: RunGrader,
  nowMs: () => number,
): Promise<{ readonly grading: Grading; readonly outcome: Outcome | undefined }> {
  const results: Record<string, Graded> = {};
  let outcome: Outcome | undefined;
  const endsAtMs = nowMs() + MAX_GRADING_SECS * 1_000;

  async function resultOf(part: number | Node): Promise<Graded | null> {
    if (typeof part !== "number") return await resultOfGroup(part);
    const state = states[part] ?? "waiting";
    const verdict = verdictIn(state);
    return verdict && { verdict, score: earned(tests[part], state, shares[part] ?? 0) };
  }

  async function resultOfGroup(node: Node): Promise<Graded | null> {
    const { group, parts } = node;
    const found: Graded[] = [];
    for (const part of parts) {
      const result = await resultOf(part);
      if (result) found.push(result);
      if (result && result.verdict !== "AC" && group.breaks) break;
    }
    if (found.length === 0) return null;
    const result = group.grader ? await graded(group.name, group.grader, found) : byRule(node, found);
    results[group.name] = result;
    return result;
  }

  async function graded(name: string, args: readonly string[], parts: readonly Graded[]): Promise<Graded> {
    if (parts.some(({ verdict }) => verdict === "IE")) return { verdict: "IE", score: 0 };
    if (nowMs() > endsAtMs) throw new GradingFault(`the grader takes more than ${MAX_GRADING_SECS} s for all groups`);
    const input = parts.map(({ verdict, score }) => `${wordOf(verdict)} ${score}\n`).join("");
    outcome = await run(args, Buffer.from(input));
    const { result, output } = outcome;
    if (result.cause.startsWith("compile_")) throw new GradingFault(`the grader does not compile${because(outcome)}`);
    if (result.verdict !== "AC")
      throw new GradingFault(`the grader ends as ${result.verdict} for ${name}${because(outcome)}`);
    const text = String(output?.stdout.subarray(0, MAX_OUTPUT) ?? "");
    const [, word = "", score = ""] = OUTPUT.exec(text) ?? [];
    const verdict = VERDICTS[word];
    if (!verdict)
      throw new GradingFault(`the grader writes no verdict with a score for ${name}: ${text.slice(0, 100)}`);
    if (!(Number(score) >= 0 && Number(score) <= MAX_POINTS))
      throw new GradingFault(`the grader gives ${score} points for ${name}, not 0 to ${MAX_POINTS}`);
    return { verdict, score: Number(score) };
  }

  try {
    for (const root of forestOf(tests, groups).roots) await resultOfGroup(root);
    const isFailed = Object.values(results).some(({ verdict }) => verdict === "IE");
    return { grading: { groups: results, fault: isFailed ? "the grader gives the verdict JE" : null }, outcome };
  } catch (error) {
    if (!(error instanceof GradingFault)) throw error;
    return { grading: { groups: {}, fault: error.message }, outcome };
  }
}

/** The verdict and the score of all groups. */
export function totalOfGrading({ tests, groups }: Definition, { groups: graded }: Grading): Graded {
  const roots = forestOf(tests, groups).roots.flatMap(({ group }) => graded[group.name] ?? []);
  const verdicts = roots.map(({ verdict }) => verdict);
  return { verdict: failing(verdicts, false) ?? "AC", score: roots.reduce((sum, { score }) => sum + score, 0) };
}

class GradingFault extends Error {}

/** The result of a group by its own rule. */
function byRule({ group }: Node, parts: readonly Graded[]): Graded {
  const verdicts = parts.map(({ verdict }) => verdict);
  if (verdicts.includes("IE")) return { verdict: "IE", score: 0 };
  const isAny = group.passes === "any" && verdicts.includes("AC");
  const verdict = isAny || group.passes === "always" ? "AC" : (failing(verdicts, group.failsAs === "worst") ?? "AC");
  if (group.rule === "all") return { verdict, score: group.points ?? 0 };
  const scores = parts.map(({ score }) => score);
  return { verdict, score: combined(group.rule, scores) };
}

/** What a grader writes: a verdict and a score. */
const OUTPUT = /^(AC|WA|TLE|RTE|MLE|OLE|JE)\s+(-?\d{1,30}(?:\.\d{0,30})?|-?\.\d{1,30})\s*$/;
const MAX_OUTPUT = 1_000;
const VERDICTS: Readonly<Record<string, JudgementVerdict>> = {
  AC: "AC",
  WA: "WA",
  TLE: "TLE",
  RTE: "RE",
  MLE: "MLE",
  OLE: "FSE",
  JE: "IE",
};

/** The word for a verdict in the input of a grader. */
function wordOf(verdict: JudgementVerdict): string {
  return verdict === "AC" || verdict === "WA" || verdict === "TLE" ? verdict : "RTE";
}

/** The most characters that are shown of what a grader or its compiler wrote. */
const MAX_SHOWN = 300;

function because({ result, output }: Outcome): string {
  const written = String(output?.stderr.subarray(0, 4 * MAX_SHOWN) ?? "").trim();
  const texts = [result.errorMessage ?? "", written.toWellFormed().replaceAll("\0", "\uFFFD").slice(0, MAX_SHOWN)];
  return texts.flatMap((text) => (text === "" ? [] : [`: ${text.toWellFormed()}`])).join("");
}
