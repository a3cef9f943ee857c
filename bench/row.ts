/** One row of the benchmark: a measurement, and its floor from the same run of the command. */
export interface BenchRow {
  readonly name: string;
  readonly unit: "us" | "ms" | "1/s";
  readonly median: number;
  /** The slow end: the 99th percentile of times, or the worst second of rates. */
  readonly p99: number;
  readonly floor: number;
  /** median / floor. */
  readonly ratio: number;
}

/** @returns a row of times. `floor` is in the same unit. */
export function timesRow(name: string, unit: BenchRow["unit"], times: readonly number[], floor: number): BenchRow {
  return finished({ name, unit, median: quantile(times, 0.5), p99: quantile(times, 0.99), floor });
}

export function ratesRow(name: string, rates: readonly number[], floors: readonly number[]): BenchRow {
  return finished({
    name,
    unit: "1/s",
    median: quantile(rates, 0.5),
    p99: Math.min(...rates),
    floor: quantile(floors, 0.5),
  });
}

export function finished({ name, unit, median, p99, floor }: Omit<BenchRow, "ratio">): BenchRow {
  return { name, unit, median: round(median), p99: round(p99), floor: round(floor), ratio: round(median / floor) };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error("nothing was measured");
  return value;
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

export function rowTable(rows: readonly BenchRow[]): string {
  const cells = rows.map(({ name, unit, median, p99, floor, ratio }) => [
    name,
    `${median} ${unit}`,
    `${p99} ${unit}`,
    `${floor} ${unit}`,
    ratio.toFixed(2),
  ]);
  return table([["row", "median", "p99", "floor", "ratio"], ...cells]);
}

/** Aligns columns for a terminal: the first column to the left, the others to the right. */
export function table(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  "),
    )
    .join("\n");
}
