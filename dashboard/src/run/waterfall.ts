import type { Span } from "../../../src/http/dashboard/api/submissions.ts";

/** The greatest share of the axis that the wait in the queue gets, so that the run can be seen after a long wait. */
const QUEUE_SHARE = 0.3;

export interface Bar {
  readonly span: Span;
  /** `from` and `width` are percent of the axis. */
  readonly from: number;
  readonly width: number;
  /** Whether the bar begins before the axis. */
  readonly isCut: boolean;
}

export interface Waterfall {
  readonly bars: readonly Bar[];
  /** `ms` is the time since the start of the run, and `at` is the position on the axis, in percent. */
  readonly ticks: readonly { readonly ms: number; readonly at: number }[];
}

/** The layout of the spans on an axis of time. Zero is the start of the run by a worker. */
export function layOutWaterfall(spans: readonly Span[]): Waterfall {
  const queued = spans.find(({ step }) => step === "queue")?.ms ?? 0;
  const last = spans.at(-1);
  const after = last ? Math.max(last.startMs + last.ms - queued, 0) : 0;
  const before = after > 0 ? Math.min(queued, (after * QUEUE_SHARE) / (1 - QUEUE_SHARE)) : queued;
  const whole = Math.max(before + after, 0.001);
  const percent = (ms: number) => (100 * (ms + before)) / whole;
  const bars = spans.map((span) => {
    const begin = span.startMs - queued;
    const from = Math.max(percent(begin), 0);
    return { span, from, width: percent(begin + span.ms) - from, isCut: begin < -before };
  });
  return { bars, ticks: ticksOf(-before, after).map((ms) => ({ ms, at: percent(ms) })) };
}

/** Two to six round values from `from` to `to`. */
function ticksOf(from: number, to: number): readonly number[] {
  const rough = Math.max(to - from, 0.001) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / step);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(6)));
}
