import type { Amounts } from "../../../../src/http/dashboard/api/overview.ts";
import type { BucketSelection } from "./times.ts";

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

export function total(amounts: Amounts): number {
  return sum(Object.values(amounts));
}

/** The elements from the first to the last bucket of a span. */
export function inside<T>(all: readonly T[], [from, to]: BucketSelection): readonly T[] {
  return all.slice(from, to + 1);
}

/** Formats a percentage, such as "12 %" or "0.4 %". */
export function percent(value: number): string {
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} %`;
}
