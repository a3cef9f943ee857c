import { useSyncExternalStore } from "react";

/** The draft in the playground. */
export interface Draft {
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  readonly profile: "judge" | "agent";
  /** Undefined: the person's first account. */
  readonly accountId?: string;
  /** The submission that the draft came from, or its last run. */
  readonly from?: string;
  /** Undefined: `run`, one run with `stdin`. */
  readonly input?: "run" | "tests" | "problem";
  readonly tests?: Tests;
  /** Id of a problem of the account; empty for none. */
  readonly problem?: string;
  /** The last judgement, and its input: `tests` or the id of a problem. */
  readonly judged?: { readonly on: string; readonly id: string };
}

export interface Tests {
  readonly checker: string;
  readonly list: readonly TestDraft[];
}

export interface TestDraft {
  /** Of the fields in the page. */
  readonly key: string;
  readonly stdin: string;
  readonly expected: string;
  readonly points: number;
}

/** Undefined: no draft yet. It is kept while the document is open, also on other pages. */
let current: Draft | undefined;
const listeners = new Set<() => void>();

export function useDraft(): Draft | undefined {
  return useSyncExternalStore(listen, () => current);
}

export function draft(next: Draft): void {
  current = next;
  for (const tell of listeners) tell();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
