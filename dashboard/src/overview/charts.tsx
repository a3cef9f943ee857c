import type { Bucket, History, Percentiles } from "../../../src/http/dashboard/api/overview.ts";
import { Bars } from "../charts/bars.tsx";
import { Line } from "../charts/line.tsx";
import { Plot } from "../charts/plot.tsx";
import { count, duration } from "../pieces/words.ts";
import css from "./overview.module.css";
import { VERDICTS, verdictColour } from "./verdicts.ts";

const HOUR_MS = 3_600_000;
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const BOTH = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const PERCENTILES = [
  { name: "p50", colour: "var(--accent)" },
  { name: "p95", colour: "var(--verdict-tle)" },
  { name: "p99", colour: "var(--verdict-re)" },
] as const;

export function Charts({ history: { buckets, bucketMs } }: { history: History }) {
  const format = bucketMs < HOUR_MS ? TIME : DATE;
  const times = buckets.map(({ at }) => ({
    short: format.format(new Date(at)),
    long: `from ${BOTH.format(new Date(at))}`,
  }));
  return (
    <div className={css.charts}>
      <Ended buckets={buckets} times={times} />
      <ErrorRate buckets={buckets} times={times} />
      <Durations
        title="Waiting time: from accepted to started"
        of={buckets.map(({ waitMs }) => waitMs)}
        times={times}
      />
      <Durations title="Run time: from started to ended" of={buckets.map(({ runMs }) => runMs)} times={times} />
    </div>
  );
}

interface OverTime {
  readonly buckets: readonly Bucket[];
  readonly times: Parameters<typeof Plot>[0]["times"];
}

function Ended({ buckets, times }: OverTime) {
  const stacks = buckets.map(({ verdicts }) =>
    VERDICTS.map((verdict) => ({ verdict, colour: verdictColour(verdict), value: verdicts[verdict] ?? 0 })),
  );
  const occurred = VERDICTS.filter((verdict) => buckets.some(({ verdicts }) => verdicts[verdict]));
  const told = (index: number | null) => {
    const chosen = index === null ? buckets : buckets.slice(index, index + 1);
    return occurred.map((verdict) => ({
      name: verdict,
      value: count(sum(chosen.map(({ verdicts }) => verdicts[verdict] ?? 0))),
      colour: verdictColour(verdict),
    }));
  };
  return (
    <Plot title="Ended, by verdict" times={times} top={Math.max(0, ...buckets.map(ended))} unit={count} told={told}>
      {(canvas) => <Bars canvas={canvas} stacks={stacks} />}
    </Plot>
  );
}

function ErrorRate({ buckets, times }: OverTime) {
  const rates = buckets.map((bucket) => (ended(bucket) === 0 ? null : (100 * bucket.errors) / ended(bucket)));
  const told = (index: number | null) => {
    const chosen = index === null ? buckets : buckets.slice(index, index + 1);
    const [errors, all] = [sum(chosen.map((bucket) => bucket.errors)), sum(chosen.map(ended))];
    return [
      { name: "errors", value: `${count(errors)} of ${count(all)}`, colour: "var(--verdict-re)" },
      { name: "rate", value: all === 0 ? "none ended" : percent((100 * errors) / all) },
    ];
  };
  return (
    <Plot
      title="Error rate: ended without a result"
      times={times}
      top={Math.max(1, ...rates.map((rate) => rate ?? 0))}
      unit={percent}
      told={told}
    >
      {(canvas) => <Line canvas={canvas} values={rates} colour="var(--verdict-re)" />}
    </Plot>
  );
}

function Durations({
  title,
  of,
  times,
}: { title: string; of: readonly (Percentiles | null)[] } & Pick<OverTime, "times">) {
  const told = (index: number | null) => {
    const chosen = index === null ? of.findLast((each) => each !== null) : of[index];
    return PERCENTILES.map(({ name, colour }) => ({
      name,
      value: chosen ? `≤ ${duration(chosen[name])}` : "no ended runs",
      colour,
    }));
  };
  return (
    <Plot
      title={title}
      times={times}
      top={Math.max(0, ...of.map((each) => each?.p99 ?? 0))}
      unit={duration}
      told={told}
    >
      {(canvas) =>
        PERCENTILES.map(({ name, colour }) => (
          <Line key={name} canvas={canvas} values={of.map((each) => each?.[name] ?? null)} colour={colour} />
        ))
      }
    </Plot>
  );
}

function ended({ verdicts }: Bucket): number {
  return sum(Object.values(verdicts));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function percent(value: number): string {
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} %`;
}
