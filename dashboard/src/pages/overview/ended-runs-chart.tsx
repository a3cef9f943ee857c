import { NativeSelect, SegmentedControl } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { GROUPINGS, type Grouping, type History } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { Bars } from "../../components/charts/bars.tsx";
import { useCursor } from "../../components/charts/cursor.tsx";
import { during, ofGroup, ofVerdict } from "../../components/charts/list-filters.ts";
import { type Canvas, type LegendEntry, Plot } from "../../components/charts/plot.tsx";
import { linear } from "../../components/charts/scale.ts";
import { CLASSES, groupColour, verdictColour } from "../../components/charts/series-colours.ts";
import { inside, percent, sum, total } from "../../components/charts/sums.ts";
import type { BucketSelection } from "../../components/charts/times.ts";
import { count } from "../../components/format.ts";
import { Breakdown } from "./breakdown.tsx";

const GROUPING_NAMES: Readonly<Record<Grouping, string>> = {
  verdict: "by verdict",
  language: "by language",
  key: "by key",
  project: "by project",
};

/** The names of the series for all smaller groups together, and for runs of keys without a project. */
const REST = "others";
const NONE = "no project";

/** The part of all bars that shows one verdict or one group. */
interface Series {
  readonly name: string;
  readonly colour: string;
  /** The number of runs in each bucket. */
  readonly values: readonly number[];
  /** The filters of the list of submissions that select these runs; null if no filter does. */
  readonly filters: Search | null;
}

interface Props {
  readonly history: History;
  readonly by: Grouping;
  /** Whether each bar shows shares of 100 % instead of numbers of runs. */
  readonly asShare: boolean;
  readonly account: string | undefined;
  readonly onChange: (change: { by?: Grouping; share?: true | undefined }) => void;
}

/** The chart of the ended runs over time, by verdict or by group. */
export function EndedRunsChart({ history, by, asShare, account, onChange }: Props) {
  const times = useCursor();
  const navigate = useNavigate();
  const series = useMemo(() => seriesOf(history), [history]);
  const totals = history.buckets.map(({ verdicts }) => total(verdicts));
  const most = Math.max(0, ...totals);
  const axis = useMemo(() => (asShare ? linear(100, percent) : linear(most, count)), [asShare, most]);
  const ofAccount = (filters: Search): Search => (account === undefined ? filters : { ...filters, account });
  const legend = (span: BucketSelection): readonly LegendEntry[] => {
    const all = sum(inside(totals, span));
    return series.map(({ name, colour, values, filters }) => {
      const amount = sum(inside(values, span));
      const value = all === 0 ? count(amount) : `${count(amount)} · ${percent((100 * amount) / all)}`;
      const search = filters && amount > 0 ? { search: during(times, span, ofAccount(filters)) } : {};
      return { name, colour, value, ...search };
    });
  };
  const pick = (index: number, height: number | null) => {
    const parts = barOf(series, index, asShare);
    const reached = height === null ? null : partAt(parts, height * (axis.ticks.at(-1)?.value ?? 0));
    void navigate({
      to: "/submissions",
      search: during(times, [index, index], ofAccount(reached?.filters ?? {})),
    });
  };
  const draw = useCallback(
    (canvas: Canvas) => (
      <Bars canvas={canvas} stacks={history.buckets.map((_, index) => barOf(series, index, asShare))} />
    ),
    [history, series, asShare],
  );
  return (
    <Plot
      title="Ended runs"
      axis={axis}
      legend={legend}
      empty={most === 0 ? "No run ended in this time." : null}
      onPick={pick}
      actions={
        <>
          <NativeSelect
            size="xs"
            aria-label="Group ended runs"
            value={by}
            data={GROUPINGS.map((value) => ({ value, label: GROUPING_NAMES[value] }))}
            onChange={({ currentTarget }) => onChange({ by: currentTarget.value as Grouping })}
          />
          <SegmentedControl
            size="xs"
            aria-label="Scale of ended runs"
            value={asShare ? "share" : "amount"}
            data={[
              { value: "amount", label: "Runs" },
              { value: "share", label: "100 %" },
            ]}
            onChange={(value) => onChange({ share: value === "share" || undefined })}
          />
        </>
      }
      below={history.groups.length > 0 && <Breakdown history={history} times={times} ofAccount={ofAccount} />}
    >
      {draw}
    </Plot>
  );
}

/** The series of the chart: the verdicts that occurred, or the largest groups and the rest. */
function seriesOf({ by, buckets, groups }: History): readonly Series[] {
  if (by === "verdict") {
    const occurred = CLASSES.filter((verdict) => buckets.some(({ verdicts }) => verdicts[verdict]));
    return occurred.map((verdict) => ({
      name: verdict,
      colour: verdictColour(verdict),
      values: buckets.map(({ verdicts }) => verdicts[verdict] ?? 0),
      filters: ofVerdict(verdict),
    }));
  }
  const isUnique = (wanted: string) =>
    wanted !== REST && wanted !== NONE && groups.filter(({ name }) => name === wanted).length === 1;
  const own = groups.map(({ id, name, amounts }, index) => ({
    // Keys and projects of several accounts can have the same name.
    name: id === "" ? NONE : isUnique(name) ? name : `${name} (${id.slice(0, 8)})`,
    colour: groupColour(index),
    values: amounts,
    filters: id === "" ? null : ofGroup(by, id),
  }));
  // The rest are the runs of smaller groups, and runs from before the release that counts by key, which are in no group.
  const rest = buckets.map(({ verdicts }, index) =>
    Math.max(0, total(verdicts) - sum(groups.map(({ amounts }) => amounts[index] ?? 0))),
  );
  if (sum(rest) === 0) return own;
  return [...own, { name: REST, colour: groupColour("rest"), values: rest, filters: null }];
}

function barOf(series: readonly Series[], index: number, asShare: boolean) {
  const all = asShare ? sum(series.map(({ values }) => values[index] ?? 0)) / 100 : 1;
  return series.map(({ colour, values, filters }) => ({
    colour,
    filters,
    value: all === 0 ? 0 : (values[index] ?? 0) / all,
  }));
}

/** The part of a bar at a height; undefined if the height is above the bar. */
function partAt(parts: readonly { readonly value: number; readonly filters: Search | null }[], height: number) {
  let below = 0;
  return parts.find(({ value }) => {
    below += value;
    return height <= below && value > 0;
  });
}
