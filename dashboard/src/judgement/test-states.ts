import type { JudgedTest } from "../../../src/http/dashboard/api/judgements.ts";
import { JUDGEMENT_NAMES } from "../components/verdict.tsx";

const OPEN: Readonly<Record<string, { readonly sign: string; readonly text: string }>> = {
  AC: { sign: "✓", text: "passed" },
  waiting: { sign: "·", text: "waiting" },
  queued: { sign: "…", text: "in the queue, or running" },
  skipped: { sign: "–", text: "left out" },
};

/** The sign in a cell. */
export function signOf(state: JudgedTest["state"]): string {
  return OPEN[state]?.sign ?? state;
}

export function stateText(state: JudgedTest["state"]): string {
  return OPEN[state]?.text ?? JUDGEMENT_NAMES[state] ?? state;
}

/** The label of a cell. It begins with the text of the cell if that is a verdict. */
export function labelOf(state: JudgedTest["state"]): string {
  return state in OPEN ? stateText(state) : `${state} ${stateText(state)}`;
}

/** Ended without passing. */
export function isFailure({ state }: Pick<JudgedTest, "state">): boolean {
  return !(state in OPEN);
}
