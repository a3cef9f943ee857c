import { GROUPINGS, type Grouping, WINDOWS } from "../../../../src/http/dashboard/api/overview.ts";
import type { RangeInAddress } from "./range-control.tsx";

/** The parameters in the URL of the overview. */
export interface OverviewSearch extends RangeInAddress {
  readonly account?: string | undefined;
  readonly by?: Grouping | undefined;
  /** Whether the bars of ended runs show shares of 100 %. */
  readonly share?: true | undefined;
}

export function overviewSearch(search: Record<string, unknown>): OverviewSearch {
  const { account, from, to, share } = search;
  const window = WINDOWS.find((each) => each === search.window);
  const by = GROUPINGS.find((each) => each === search.by);
  const isRange = isTime(from) && isTime(to) && from < to;
  return {
    ...(isRange ? { from, to } : window && { window }),
    ...(by && { by }),
    ...(share === true && { share }),
    ...(typeof account === "string" && account !== "" && { account }),
  };
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
