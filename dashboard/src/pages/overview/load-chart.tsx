import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Bucket } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { Bars } from "../../components/charts/bars.tsx";
import { useCursor } from "../../components/charts/cursor.tsx";
import { Line } from "../../components/charts/line.tsx";
import { during } from "../../components/charts/list-filters.ts";
import { type Canvas, type LegendEntry, Plot } from "../../components/charts/plot.tsx";
import { linear } from "../../components/charts/scale.ts";
import { inside } from "../../components/charts/sums.ts";
import type { BucketSelection } from "../../components/charts/times.ts";
import { count } from "../../components/format.ts";

const LINES = [
  { name: "pending", colour: "var(--line-p95)", dashes: "none" },
  { name: "slots", colour: "var(--ink)", dashes: "7 3" },
] as const;
const RUNNING = "var(--verdict-fse)";

interface Props {
  readonly buckets: readonly Bucket[];
  readonly filters: Search;
}

/** The chart of the pending and running submissions and the slots over time. */
export function LoadChart({ buckets, filters }: Props) {
  const times = useCursor();
  const navigate = useNavigate();
  const recorded = buckets.flatMap(({ load }) => load ?? []);
  const most = Math.max(0, ...recorded.flatMap(({ pending, running, slots }) => [pending, running, slots]));
  const axis = useMemo(() => linear(most, count), [most]);
  const legend = (span: BucketSelection): readonly LegendEntry[] => {
    const chosen = inside(buckets, span).flatMap(({ load }) => load ?? []);
    const highest = (name: "pending" | "running" | "slots") =>
      chosen.length === 0 ? "–" : count(Math.max(...chosen.map((load) => load[name])));
    return [
      { name: "running, at most", value: highest("running"), colour: RUNNING },
      ...LINES.map(({ name, ...look }) => ({ name: `${name}, at most`, value: highest(name), ...look })),
    ];
  };
  const draw = useCallback(
    (canvas: Canvas) => (
      <>
        <Bars canvas={canvas} stacks={buckets.map(({ load }) => [{ colour: RUNNING, value: load?.running ?? 0 }])} />
        {LINES.map(({ name, ...look }) => (
          <Line key={name} canvas={canvas} values={buckets.map(({ load }) => load?.[name] ?? null)} {...look} />
        ))}
      </>
    ),
    [buckets],
  );
  return (
    <Plot
      title="Queue and slots"
      axis={axis}
      legend={legend}
      empty={recorded.length === 0 ? "Nothing was recorded in this time." : null}
      onPick={(index) => void navigate({ to: "/submissions", search: during(times, [index, index], filters) })}
    >
      {draw}
    </Plot>
  );
}
