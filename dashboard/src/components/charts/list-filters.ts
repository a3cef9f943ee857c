import type { Grouping } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { type BucketSelection, type Times, timesOf } from "./times.ts";

/** The filters of the list of submissions that select one class of ended runs (CLASSES in series-colours.ts). */
export function ofVerdict(verdict: string): Search {
  const cause = { CE: "compile_error", RE: "nonzero_exit" }[verdict];
  const filters = { verdict: verdict === "CE" ? "RE" : verdict, ...(cause && { cause }) };
  return filters;
}

export function ofGroup(by: Exclude<Grouping, "verdict">, id: string): Search {
  return { [by]: id };
}

/**
 * Adds the time of these buckets to filters. The list can differ from the chart: the list searches by the time at which the
 * service received a submission, while charts count runs by the time of their end.
 */
export function during(times: Times, span: BucketSelection, filters: Search): Search {
  const { fromMs, toMs } = timesOf(times, span);
  return { ...filters, since: new Date(fromMs).toISOString(), until: new Date(toMs).toISOString() };
}
