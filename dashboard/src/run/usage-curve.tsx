import { useElementSize } from "@mantine/hooks";
import { type PointerEvent, useState } from "react";
import type { Samples } from "../../../src/http/dashboard/api/submissions.ts";
import plot from "../components/charts/plot.module.css";
import { duration, size } from "../components/format.ts";
import { byteSteps, cpuIntervals, memoryPeak, memoryTop, stepsWithin, timeEnd } from "./cpu-series.ts";
import css from "./usage-curve.module.css";

const LEFT = 62;
const RIGHT = 10;
const TOP = 8;
const MEMORY = 92;
const CPU_TOP = MEMORY + 18;
const CPU = CPU_TOP + 34;
const HEIGHT = CPU + 22;
/** The width that a label of the time axis needs. */
const LABEL_PX = 56;

/**
 * Two curves above each other with one time axis: the memory and the CPUs that a step used. The element has its final height even
 * before its width is known.
 */
export function UsageCurve({ of: samples }: { of: Samples }) {
  const { ref, width } = useElementSize();
  const [pointed, point] = useState<number | null>(null);
  const at = pointed === null ? null : nearest(samples.atMs, pointed);
  const endMs = timeEnd(samples);
  const follow = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const x = clientX - currentTarget.getBoundingClientRect().left - LEFT;
    point((x / Math.max(1, width - LEFT - RIGHT)) * endMs);
  };
  return (
    <figure className={css.figure} aria-label="Memory and CPUs over time">
      <Legend of={samples} at={at} />
      <div
        ref={ref}
        className={css.canvas}
        role="img"
        aria-label={sentence(samples)}
        onPointerMove={follow}
        onPointerLeave={() => point(null)}
      >
        {width > LEFT + RIGHT && <Curves of={samples} width={width} endMs={endMs} at={at} />}
      </div>
    </figure>
  );
}

function Legend({ of: samples, at }: { of: Samples; at: number | null }) {
  const { atMs, memoryBytes, peakBytes, limitBytes, limitMs, end } = samples;
  const cpus = at === null ? end.cpuMs / Math.max(0.1, end.atMs) : (cpusAt(samples, atMs[at] ?? 0)?.cpus ?? 0);
  const shown = memoryTop(samples) >= limitBytes;
  return (
    <ul className={plot.legend}>
      <li>
        <i className={css.memorySwatch} />
        {at === null ? "Peak" : "Memory"} <b>{size(at === null ? peakBytes : (memoryBytes[at] ?? 0))}</b>
      </li>
      <li>
        {shown && <i className={css.limitSwatch} />}
        Limit <b>{size(limitBytes)}</b>
        {!shown && " (above this scale)"}
      </li>
      <li>
        <i className={css.cpuSwatch} />
        {at === null ? "CPUs on average" : "CPUs"} <b>{cpus.toFixed(2)}</b>
      </li>
      <li>
        {at === null ? "Ended after" : "After"} <b>{duration(at === null ? end.atMs : (atMs[at] ?? 0))}</b>
        {limitMs !== null && ` of ${duration(limitMs)}`}
      </li>
      {samples.step === "compile" && <li>of the compiler</li>}
    </ul>
  );
}

interface Drawn {
  readonly of: Samples;
  readonly width: number;
  readonly endMs: number;
  readonly at: number | null;
}

function Curves({ of: samples, width, endMs, at }: Drawn) {
  const { atMs, memoryBytes, limitBytes, limitMs, end } = samples;
  const used = cpuIntervals(samples);
  const top = memoryTop(samples);
  const most = Math.max(1, Math.ceil(Math.max(...used.map(({ cpus }) => cpus)) - 0.1));
  const right = width - RIGHT;
  const x = (ms: number) => LEFT + (right - LEFT) * Math.min(1, ms / endMs);
  const y = (bytes: number) => TOP + (MEMORY - TOP) * (1 - Math.min(1, bytes / top));
  const cpuY = (cpus: number) => CPU_TOP + (CPU - CPU_TOP) * (1 - Math.min(1, cpus / most));
  const line = atMs.map((ms, i) => `${x(ms).toFixed(1)},${y(memoryBytes[i] ?? 0).toFixed(1)}`).join(" ");
  const [first, last] = [x(atMs[0] ?? 0), x(atMs.at(-1) ?? 0)];
  const cpuLine = used.flatMap(({ fromMs, toMs, cpus }) =>
    [fromMs, toMs].map((ms) => `${x(ms).toFixed(1)},${cpuY(cpus).toFixed(1)}`),
  );
  const peak = memoryPeak(samples);
  return (
    <svg aria-hidden="true" width={width} height={HEIGHT}>
      {byteSteps(top).map((bytes) => (
        <Row key={bytes} y={y(bytes)} right={right} label={bytes === 0 ? "0" : size(bytes)} />
      ))}
      {[0, most].map((cpus) => (
        <Row key={cpus} y={cpuY(cpus)} right={right} label={cpus === 1 ? "1 CPU" : cpus === 0 ? "0" : `${cpus} CPUs`} />
      ))}
      {timeSteps(endMs, right - LEFT).map((ms) => (
        <text key={ms} className={plot.axis} x={x(ms)} y={HEIGHT - 5} textAnchor={ms === 0 ? "start" : "middle"}>
          {ms === 0 ? "0" : duration(ms)}
        </text>
      ))}
      <polygon className={css.area} points={`${first},${MEMORY} ${line} ${last},${MEMORY}`} />
      <polyline className={css.memory} points={line} />
      <circle className={css.peak} cx={x(peak.atMs)} cy={y(peak.bytes)} r={3} />
      {top >= limitBytes && <line className={css.limit} x1={LEFT} x2={right} y1={y(limitBytes)} y2={y(limitBytes)} />}
      <polyline className={css.cpu} points={cpuLine.join(" ")} />
      <line className={css.end} x1={x(end.atMs)} x2={x(end.atMs)} y1={TOP} y2={CPU} />
      {limitMs !== null && limitMs <= endMs && (
        <line className={css.limit} x1={x(limitMs)} x2={x(limitMs)} y1={TOP} y2={CPU} />
      )}
      {at !== null && <line className={css.cursor} x1={x(atMs[at] ?? 0)} x2={x(atMs[at] ?? 0)} y1={TOP} y2={CPU} />}
    </svg>
  );
}

function Row({ y, right, label }: { y: number; right: number; label: string }) {
  return (
    <>
      <line className={plot.grid} x1={LEFT} x2={right} y1={y} y2={y} />
      <text className={plot.axis} x={LEFT - 8} y={y + 4} textAnchor="end">
        {label}
      </text>
    </>
  );
}

/** The times that get a label. Each label has enough space, also the last one at the right edge. */
function timeSteps(endMs: number, px: number): readonly number[] {
  const all = stepsWithin(endMs).filter((ms) => ms <= endMs * (1 - LABEL_PX / 4 / px) || ms === 0);
  const step = all[1] ?? endMs;
  const every = Math.max(1, Math.ceil((LABEL_PX * endMs) / (step * px)));
  return all.filter((_, i) => i % every === 0);
}

function nearest(atMs: readonly number[], ms: number): number | null {
  const first = atMs.findIndex((one) => one >= ms);
  const after = first < 0 ? atMs.length - 1 : first;
  return after > 0 && ms - (atMs[after - 1] ?? 0) < (atMs[after] ?? 0) - ms ? after - 1 : after;
}

function cpusAt(samples: Samples, ms: number) {
  return cpuIntervals(samples).find(({ fromMs, toMs }) => ms > fromMs && ms <= toMs);
}

function sentence(samples: Samples): string {
  const { peakBytes, limitBytes, end } = samples;
  const peak = `Memory peaks at ${size(peakBytes)} of ${size(limitBytes)}, after about ${duration(memoryPeak(samples).atMs)}`;
  return `${peak}; ${duration(end.cpuMs)} of CPU time in ${duration(end.atMs)}.`;
}
