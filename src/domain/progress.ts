import type { Metrics } from "./outcome.ts";
import type { WorkFile } from "./report.ts";

/**
 * How far a submission of several runs has come. Between two of its runs, it can give up its slot: it is then pending again, and the
 * worker that claims it next continues with the next run. Runs that are completed here are never repeated.
 */
export interface Progress {
  /** Completed runs. */
  readonly runs: number;
  /** Sums over the completed runs that have metrics, for the means of repeated runs. */
  readonly measured: RunTotals;
  /** What the checker of a multi-pass test left for the next run; null for repeated runs. */
  readonly nextPass: NextPass | null;
}

/** Sums of the metrics of several runs. */
export interface RunTotals {
  readonly runs: number;
  readonly cpuUsec: number;
  readonly memoryPeakBytes: number;
}

/** What the next pass of a program needs. */
export interface NextPass {
  readonly input: Buffer;
  /** The files that the checker left in its feedback directory. They are there again when it checks the next pass. */
  readonly feedback: readonly WorkFile[];
}

export const NO_RUN_TOTALS: RunTotals = { runs: 0, cpuUsec: 0, memoryPeakBytes: 0 };

/** Adds the metrics of one run; an outcome without metrics changes nothing. */
export function addToTotals(sums: RunTotals, metrics: Metrics | null): RunTotals {
  if (!metrics) return sums;
  return {
    runs: sums.runs + 1,
    cpuUsec: sums.cpuUsec + metrics.cpuUsec,
    memoryPeakBytes: sums.memoryPeakBytes + metrics.memoryPeakBytes,
  };
}

interface Stored extends Omit<Progress, "nextPass"> {
  readonly nextPass: { readonly input: string; readonly feedback: readonly (readonly [string, string])[] } | null;
}

/** The bytes for the database: JSON with contents in base64. */
export function encodeProgress({ nextPass, ...rest }: Progress): Buffer {
  const stored: Stored = {
    ...rest,
    nextPass: nextPass && {
      input: nextPass.input.toString("base64"),
      feedback: nextPass.feedback.map(({ name, data }) => [name, data.toString("base64")] as const),
    },
  };
  return Buffer.from(JSON.stringify(stored), "utf8");
}

export function decodeProgress(bytes: Buffer): Progress {
  const { nextPass, ...rest } = JSON.parse(bytes.toString("utf8")) as Stored;
  return {
    ...rest,
    nextPass: nextPass && {
      input: Buffer.from(nextPass.input, "base64"),
      feedback: nextPass.feedback.map(([name, data]) => ({ name, data: Buffer.from(data, "base64") })),
    },
  };
}
