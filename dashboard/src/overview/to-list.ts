import type { Grouping } from "../../../src/http/dashboard/api/overview.ts";
import { type Span, type Times, timesOf } from "../charts/cursor.tsx";
import type { Search } from "../submissions/search.ts";

/** Filters of the submissions that a part of a chart counts. */
export function ofVerdict(verdict: string): Search {
  const filters = verdict === "CE" ? { verdict: "RE", cause: "compile_error" } : { verdict };
  return verdict === "RE" ? ({ ...filters, cause: "nonzero_exit" } as Search) : (filters as Search);
}

export function ofGroup(by: Exclude<Grouping, "verdict">, id: string): Search {
  return { [by]: id };
}

/** The same in the time of these buckets. Charts count ends, the list finds by the time of acceptance. */
export function during(times: Times, span: Span, filters: Search): Search {
  const { fromMs, toMs } = timesOf(times, span);
  return { ...filters, since: new Date(fromMs).toISOString(), until: new Date(toMs).toISOString() };
}
