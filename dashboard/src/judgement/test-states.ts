import type { JudgedTest } from "../../../src/http/dashboard/api/judgements.ts";
import { JUDGEMENT_WORDS } from "../components/verdict.tsx";

const OPEN: Readonly<Record<string, { readonly sign: string; readonly words: string }>> = {
  AC: { sign: "✓", words: "passed" },
  waiting: { sign: "·", words: "waiting" },
  queued: { sign: "…", words: "in the queue, or running" },
  skipped: { sign: "–", words: "left out" },
};

/** The sign in a cell. */
export function signOf(state: JudgedTest["state"]): string {
  return OPEN[state]?.sign ?? state;
}

export function wordsOf(state: JudgedTest["state"]): string {
  return OPEN[state]?.words ?? JUDGEMENT_WORDS[state] ?? state;
}

/** The label of a cell. It begins with the text of the cell if that is a verdict. */
export function labelOf(state: JudgedTest["state"]): string {
  return state in OPEN ? wordsOf(state) : `${state} ${wordsOf(state)}`;
}

/** Ended without passing. */
export function isFailure({ state }: Pick<JudgedTest, "state">): boolean {
  return !(state in OPEN);
}
