import { useSyncExternalStore } from "react";
import { storeDraft, storedDraft } from "../../client/draft-storage.ts";

/** What a person wrote and selected in the playground. It is kept when the page is reloaded or the session expires. */
export interface Draft {
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  readonly profile: "judge" | "agent";
  /** Undefined: the person's first account. */
  readonly accountId?: string;
  /** Id of the submission from which the draft was made, or of the last run of the draft. */
  readonly from?: string;
  /** Whether the program runs once, with `stdin`, or on tests or a problem. Undefined: once. */
  readonly input?: "run" | "tests" | "problem";
  readonly tests?: Tests;
  /** Id of the selected problem of the account; empty or undefined if none is selected. */
  readonly problem?: string;
  /** The answers to the tests of the problem, by the names of their files, if its submissions consist of answers. */
  readonly answers?: Readonly<Record<string, string>>;
  /** The last judgement: its id, and on what it judged the program, which is `tests` or the id of a problem. */
  readonly judged?: { readonly on: string; readonly id: string };
}

export interface Tests {
  readonly checker: string;
  readonly list: readonly TestDraft[];
}

export interface TestDraft {
  /** Identifies the fields of the test on the page. */
  readonly key: string;
  readonly stdin: string;
  readonly expected: string;
  readonly points: number;
}

interface State {
  /** Undefined if there is no draft yet. */
  readonly draft: Draft | undefined;
  /** Whether a reload of the page keeps the draft. */
  readonly isStored: boolean;
}

/** Delay before a changed draft is stored: a draft can have megabytes, so it is not stored at every change. */
const STORE_MS = 300;

/** Null until the stored draft has been read. */
let state: State | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

export function useDraft(): State {
  return useSyncExternalStore(listen, () => {
    state ??= { draft: draftIn(storedDraft()), isStored: true };
    return state;
  });
}

export function setDraft(next: Draft): void {
  setState({ draft: next, isStored: state?.isStored ?? true });
  timer ??= setTimeout(storeNow, STORE_MS);
}

function storeNow(): void {
  clearTimeout(timer);
  timer = undefined;
  if (!state?.draft) return;
  const isStored = storeDraft(state.draft);
  if (isStored !== state.isStored) setState({ ...state, isStored });
}

window.addEventListener("pagehide", storeNow);

/** Checks the form of a stored draft, because another release may have stored it. */
function draftIn(value: unknown): Draft | undefined {
  const { language, code, stdin, profile } = (value ?? {}) as Partial<Draft>;
  const isDraft = [language, code, stdin, profile].every((field) => typeof field === "string");
  return isDraft ? (value as Draft) : undefined;
}

function setState(next: State): void {
  state = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
