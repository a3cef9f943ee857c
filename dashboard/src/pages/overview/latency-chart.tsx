import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { History, Latency, Percentiles } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { useCursor } from "../../components/charts/cursor.tsx";
import { Heatmap } from "../../components/charts/heatmap.tsx";
import { Line } from "../../components/charts/line.tsx";
import { during } from "../../components/charts/list-filters.ts";
import { type Canvas, type LegendEntry, Plot } from "../../components/charts/plot.tsx";
import { logarithmic } from "../../components/charts/scale.ts";
import { inside, sum } from "../../components/charts/sums.ts";
import type { BucketSelection } from "../../components/charts/times.ts";
import { counted, duration } from "../../components/format.ts";

/** The lines have different dashes, so that people with colour blindness can tell them apart. */
const PERCENTILES = [
  { name: "p50", colour: "var(--ink)", dashes: "none" },
  { name: "p95", colour: "var(--line-p95)", dashes: "7 3" },
  { name: "p99", colour: "var(--line-p99)", dashes: "2 3" },
] as const;

/** The lower end of the first bin on the axis, which has no zero because it is logarithmic. */
const LEAST_MS = 0.7;

interface Props {
  readonly title: string;
  readonly latency: Latency;
  readonly bounds: History["bounds"];
  readonly filters: Search;
}

/** A chart of durations over time: the number of runs in each bin of durations, on a logarithmic scale, and the percentiles. */
export function LatencyChart({ title, latency, bounds, filters }: Props) {
  const times = useCursor();
  const navigate = useNavigate();
  const { buckets } = latency;
  const ends = useCallback(
    (bin: number): readonly [number, number] => {
      const low = bounds[bin - 1] ?? LEAST_MS;
      return [low, bounds[bin] ?? 2 * low];
    },
    [bounds],
  );
  const axis = useMemo(() => {
    const bins = buckets.flatMap((bucket) => bucket.bins.map(([bin]) => bin));
    if (bins.length === 0) return logarithmic(1, 10_000, duration);
    return logarithmic(ends(Math.min(...bins))[0], ends(Math.max(...bins))[1], duration);
  }, [buckets, ends]);
  const legend = (span: BucketSelection): readonly LegendEntry[] => {
    const [from, to] = span;
    const isAll = from === 0 && to === buckets.length - 1;
    const chosen = inside(buckets, span);
    const found = isAll ? latency.percentiles : percentilesOf(chosen, ends);
    const runs = sum(chosen.flatMap(({ bins }) => bins.map(([, amount]) => amount)));
    return [
      ...PERCENTILES.map(({ name, ...look }) => ({
        name,
        value: found ? `≤ ${duration(found[name])}` : "–",
        ...look,
      })),
      { name: "of", value: counted(runs, "run") },
    ];
  };
  const draw = useCallback(
    (canvas: Canvas) => (
      <>
        <Heatmap canvas={canvas} columns={buckets.map(({ bins }) => bins)} ends={ends} />
        {PERCENTILES.map(({ name, colour, dashes }) => (
          <Line
            key={name}
            canvas={canvas}
            values={buckets.map(({ percentiles }) => percentiles?.[name] ?? null)}
            colour={colour}
            dashes={dashes}
          />
        ))}
      </>
    ),
    [buckets, ends],
  );
  return (
    <Plot
      title={title}
      axis={axis}
      legend={legend}
      empty={latency.percentiles === null ? "No run ended in this time." : null}
      onPick={(index) => void navigate({ to: "/submissions", search: during(times, [index, index], filters) })}
    >
      {draw}
    </Plot>
  );
}

/** The percentiles of several buckets. They are computed from the sums of the bins, because percentiles cannot be added. */
function percentilesOf(
  buckets: Latency["buckets"],
  ends: (bin: number) => readonly [number, number],
): Percentiles | null {
  const [only] = buckets;
  if (buckets.length === 1 && only) return only.percentiles;
  const amounts = new Map<number, number>();
  for (const { bins } of buckets) for (const [bin, amount] of bins) amounts.set(bin, (amounts.get(bin) ?? 0) + amount);
  const all = sum(amounts.values());
  if (all === 0) return null;
  const sorted = [...amounts].sort(([a], [b]) => a - b);
  const at = (share: number) => {
    let seen = 0;
    const reached = sorted.find(([, amount]) => {
      seen += amount;
      return seen >= all * share;
    });
    return ends(reached?.[0] ?? 0)[1];
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
