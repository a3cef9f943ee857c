import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { UsageHistory } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { count } from "../format.ts";
import { Bars } from "./bars.tsx";
import { SharedCursor } from "./cursor.tsx";
import { during, ofVerdict } from "./list-filters.ts";
import { type Canvas, type LegendEntry, Plot } from "./plot.tsx";
import { linear } from "./scale.ts";
import { CLASSES, verdictColour } from "./series-colours.ts";
import { inside, percent, sum, total } from "./sums.ts";
import type { BucketSelection } from "./times.ts";

/** The states of ended deliveries, in the colours of the overview. */
const STATES = [
  { name: "delivered", colour: verdictColour("AC"), filters: null },
  { name: "failed", colour: verdictColour("RE"), filters: null },
];

interface Props {
  readonly usage: UsageHistory;
  /**
   * The filters of the list of submissions that select the runs of the chart. For the deliveries of an endpoint, they select all
   * submissions of its project.
   */
  readonly runs: Search;
  readonly isDeliveries: boolean;
}

/** Ended runs by verdict, or ended deliveries by state. */
export function UsageChart({ usage: { buckets, bucketMs }, runs, isDeliveries }: Props) {
  const navigate = useNavigate();
  const times = useMemo(() => ({ starts: buckets.map(({ at }) => Date.parse(at)), bucketMs }), [buckets, bucketMs]);
  const series = useMemo(() => {
    if (isDeliveries) return STATES;
    const occurred = CLASSES.filter((verdict) => buckets.some(({ amounts }) => amounts[verdict]));
    return occurred.map((name) => ({ name, colour: verdictColour(name), filters: ofVerdict(name) }));
  }, [buckets, isDeliveries]);
  const most = Math.max(0, ...buckets.map(({ amounts }) => total(amounts)));
  const axis = useMemo(() => linear(most, count), [most]);
  const legend = (span: BucketSelection): readonly LegendEntry[] => {
    const chosen = inside(buckets, span);
    const all = sum(chosen.map(({ amounts }) => total(amounts)));
    return series.map(({ name, colour, filters }) => {
      const amount = sum(chosen.map(({ amounts }) => amounts[name] ?? 0));
      const value = all === 0 ? count(amount) : `${count(amount)} · ${percent((100 * amount) / all)}`;
      return { name, colour, value, ...(filters && { search: during(times, span, { ...runs, ...filters }) }) };
    });
  };
  const draw = useCallback(
    (canvas: Canvas) => (
      <Bars
        canvas={canvas}
        stacks={buckets.map(({ amounts }) => series.map(({ name, colour }) => ({ colour, value: amounts[name] ?? 0 })))}
      />
    ),
    [buckets, series],
  );
  return (
    <SharedCursor {...times}>
      <Plot
        title={isDeliveries ? "Ended deliveries" : "Ended runs by verdict"}
        axis={axis}
        legend={legend}
        empty={most === 0 ? (isDeliveries ? "No delivery ended in this time." : "No run ended in this time.") : null}
        onPick={(index) => void navigate({ to: "/submissions", search: during(times, [index, index], runs) })}
      >
        {draw}
      </Plot>
    </SharedCursor>
  );
}
