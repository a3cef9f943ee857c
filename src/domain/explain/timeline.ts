import type { Submission } from "../submission.ts";

export interface Span {
  readonly name: "queued" | "compile" | "run" | "teardown";
  /** Since the submission was accepted. */
  readonly startMs: number;
  readonly ms: number;
}

/** The phases of a submission in order. Unknown phases, such as the steps of an old record, are absent. */
export function timeline({ createdAtMs, startedAtMs, outcome }: Submission, nowMs: number): Span[] {
  const queuedMs = Math.max((startedAtMs ?? nowMs) - createdAtMs, 0);
  const spans: Span[] = [{ name: "queued", startMs: 0, ms: queuedMs }];
  const { compileMs = null, execute = null } = outcome?.course ?? {};
  const add = (name: Span["name"], ms: number) => {
    const last = spans[spans.length - 1] as Span;
    spans.push({ name, startMs: last.startMs + last.ms, ms });
  };
  if (compileMs !== null) add("compile", compileMs);
  if (execute) {
    add("run", execute.runMs);
    add("teardown", execute.teardownMs);
  }
  return spans;
}
