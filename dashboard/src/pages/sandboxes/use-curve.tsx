import type { ReactNode } from "react";
import type { UsageSample } from "../../../../src/domain/sandboxes/usage.ts";
import type { SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { count, duration, size } from "../../components/format.ts";
import css from "./use-curve.module.css";

/** The size of the drawing. It is stretched to the width of the page. */
const [WIDTH, HEIGHT] = [600, 64];

interface Props {
  readonly of: readonly UsageSample[];
  readonly limits: SandboxDetail["limits"];
}

/** What a sandbox has used over its life, as four curves. */
export function UseCurve({ of: samples, limits }: Props) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || samples.length < 2)
    return <p className={css.none}>There are fewer than two measurements, so there is no curve.</p>;
  const forMs = last.atMs - first.atMs;
  const cpus = cpusOf(samples);
  const pointsOf = (of: (sample: UsageSample) => number): Line => {
    const points = samples.map((sample) => ({ atMs: sample.atMs, value: of(sample) }));
    return { points, peak: Math.max(...points.map(({ value }) => value)) };
  };
  const [memory, processes, disk] = [
    pointsOf(({ memoryBytes }) => memoryBytes),
    pointsOf((sample) => sample.processes),
    pointsOf(({ diskBytes }) => diskBytes),
  ];
  const range = { fromMs: first.atMs, forMs };
  const meanCpus = (last.cpuUsec - first.cpuUsec) / 1000 / Math.max(1, forMs);
  return (
    <>
      <p className={css.range}>
        {count(samples.length)} measurements over {duration(forMs)}
      </p>
      <div className={css.curves}>
        <Curve of={memory} {...range} kind="memory">
          Memory: at most {size(memory.peak)} of {size(limits.memoryBytes)}
        </Curve>
        <Curve of={cpus} {...range} kind="cpu">
          CPUs: at most {cpus.peak.toFixed(2)} of {count(limits.cpus)}, on average {meanCpus.toFixed(2)}
        </Curve>
        <Curve of={processes} {...range} kind="processes">
          Processes: at most {count(processes.peak)} of {count(limits.processes)}
        </Curve>
        <Curve of={disk} {...range} kind="disk">
          Files: at most {size(disk.peak)} of {size(limits.diskBytes)}
        </Curve>
      </div>
    </>
  );
}

interface Line {
  readonly points: readonly { readonly atMs: number; readonly value: number }[];
  readonly peak: number;
}

/** The CPUs that were used between each two measurements, as steps. */
function cpusOf(samples: readonly UsageSample[]): Line {
  const points = samples.slice(1).flatMap(({ atMs, cpuUsec }, i) => {
    const before = samples[i];
    if (!before) return [];
    const value = Math.max(0, (cpuUsec - before.cpuUsec) / 1000 / Math.max(1, atMs - before.atMs));
    return [
      { atMs: before.atMs, value },
      { atMs, value },
    ];
  });
  return { points, peak: Math.max(0, ...points.map(({ value }) => value)) };
}

interface CurveProps {
  readonly of: Line;
  readonly fromMs: number;
  readonly forMs: number;
  readonly kind: "memory" | "cpu" | "processes" | "disk";
  readonly children: ReactNode;
}

function Curve({ of: { points, peak }, fromMs, forMs, kind, children }: CurveProps) {
  const line = points.map(({ atMs, value }) => {
    const x = (WIDTH * (atMs - fromMs)) / Math.max(1, forMs);
    return `${x.toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 6) * value) / Math.max(peak, Number.MIN_VALUE)).toFixed(1)}`;
  });
  return (
    <figure className={css.figure}>
      {/* The text below has what the drawing shows. */}
      <svg aria-hidden="true" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" data-kind={kind}>
        <polyline points={line.join(" ")} />
      </svg>
      <figcaption>{children}</figcaption>
    </figure>
  );
}
