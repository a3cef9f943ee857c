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
  /** Null: one run with `stdin`. */
  readonly tests?: Tests | null;
  /** The tests while `tests` is null. */
  readonly kept?: Tests;
  /** The last judgement of the tests. */
  readonly judgementId?: string;
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
