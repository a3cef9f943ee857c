import { useSyncExternalStore } from "react";

/** What is being written in the playground. */
export interface Draft {
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  readonly profile: "judge" | "agent";
  /** Undefined: the first of the person's. */
  readonly accountId?: string;
  /** The submission that it was taken from, or that was last made of it. */
  readonly from?: string;
}

/** Undefined: nothing was begun yet. It is there as long as the page is, so that one may look elsewhere and come back. */
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
