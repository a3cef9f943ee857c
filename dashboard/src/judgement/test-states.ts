import type { JudgedTest } from "../../../src/http/dashboard/api/judgements.ts";
import { JUDGEMENT_NAMES } from "../components/verdict.tsx";

/** The states that are no failure. */
const NO_FAILURE: Readonly<Record<string, { readonly sign: string; readonly text: string }>> = {
  AC: { sign: "✓", text: "passed" },
  waiting: { sign: "·", text: "waiting" },
  queued: { sign: "…", text: "in the queue, or running" },
  skipped: { sign: "–", text: "left out" },
};

/** The text in the cell of a test with this state. */
export function signOf(state: JudgedTest["state"]): string {
  return NO_FAILURE[state]?.sign ?? state;
}

export function stateText(state: JudgedTest["state"]): string {
  return NO_FAILURE[state]?.text ?? JUDGEMENT_NAMES[state] ?? state;
}

/** The label of the cell. It begins with the text in the cell, if this text is a verdict. */
export function labelOf(state: JudgedTest["state"]): string {
  return state in NO_FAILURE ? stateText(state) : `${state} ${stateText(state)}`;
}

/** Whether the test ended without passing. */
export function isFailure({ state }: Pick<JudgedTest, "state">): boolean {
  return !(state in NO_FAILURE);
}
