import type { RunStats } from "../outcome.ts";
import type { Submission } from "../submission.ts";

/** A measured part of a submission's time. */
export interface Span {
  readonly step: "queue" | "compile" | "execute";
  /**
   * `whole`: the step up to the end of the program, whose parts were not measured. `set-up`: the time of the step up to the end of the
   * program, without the time of the program itself.
   */
  readonly phase: "wait" | "set-up" | "run" | "teardown" | "whole";
  /** The start of the span, since the service received the submission. */
  readonly startMs: number;
  readonly ms: number;
}

/** The spans of a submission, in the order of time. What was not measured, such as the steps of an old record, is absent. */
export function timeline({ createdAtMs, startedAtMs, outcome }: Submission, nowMs: number): Span[] {
  const spans: Span[] = [];
  let startMs = 0;
  const add = (step: Span["step"], phase: Span["phase"], ms: number) => {
    spans.push({ step, phase, startMs: tenths(startMs), ms: tenths(ms) });
    startMs += ms;
  };
  add("queue", "wait", Math.max((startedAtMs ?? nowMs) - createdAtMs, 0));
  for (const { step, runMs, wallMs, teardownMs } of stepsOf(outcome?.runStats)) {
    if (wallMs === null) add(step, "whole", runMs);
    else {
      add(step, "set-up", Math.max(runMs - wallMs, 0));
      add(step, "run", wallMs);
    }
    if (teardownMs > 0) add(step, "teardown", teardownMs);
  }
  return spans;
}

function* stepsOf({ compileMs = null, compile, execute = null }: Partial<RunStats> = {}) {
  if (compileMs !== null) {
    const { wallMs = null, teardownMs = 0 } = compile ?? {};
    yield { step: "compile", runMs: compileMs - teardownMs, wallMs, teardownMs } as const;
  }
  if (execute) yield { step: "execute", ...execute, wallMs: execute.wallMs ?? null } as const;
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
