import type { ReactNode } from "react";
import type { SandboxUse } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { duration, size } from "../../components/format.ts";
import css from "./use-curve.module.css";

/** The size of the drawing. It is stretched to the width of the page. */
const [WIDTH, HEIGHT] = [600, 64];

interface Props {
  readonly of: readonly SandboxUse[];
  readonly limitBytes: number;
}

/** The memory and the CPUs that a sandbox has used since the page was opened, as two curves. */
export function UseCurve({ of: samples, limitBytes }: Props) {
  const cpus = cpusOf(samples);
  const peak = Math.max(...samples.map(({ memoryBytes }) => memoryBytes));
  const most = Math.max(1, ...cpus.map(({ value }) => value));
  const memory = samples.map(({ atMs, memoryBytes }) => ({ atMs, value: memoryBytes }));
  const forMs = (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0);
  const now = cpus.at(-1)?.value ?? 0;
  return (
    <div className={css.curves}>
      <Curve of={memory} top={Math.max(1, peak * 1.2)} fromMs={samples[0]?.atMs ?? 0} forMs={forMs} kind="memory">
        Memory over {duration(forMs)}: at most {size(peak)} of {size(limitBytes)}
      </Curve>
      <Curve of={cpus} top={most} fromMs={samples[0]?.atMs ?? 0} forMs={forMs} kind="cpu">
        CPUs over {duration(forMs)}: now {now.toFixed(2)}
      </Curve>
    </div>
  );
}

interface Point {
  readonly atMs: number;
  readonly value: number;
}

/** The CPUs that were used between each two measurements. */
function cpusOf(samples: readonly SandboxUse[]): readonly Point[] {
  return samples.slice(1).map(({ atMs, cpuUsec }, i) => {
    const before = samples[i];
    const value = before ? (cpuUsec - before.cpuUsec) / 1000 / Math.max(1, atMs - before.atMs) : 0;
    return { atMs, value: Math.max(0, value) };
  });
}

interface CurveProps {
  readonly of: readonly Point[];
  readonly top: number;
  readonly fromMs: number;
  readonly forMs: number;
  readonly kind: "memory" | "cpu";
  readonly children: ReactNode;
}

function Curve({ of: points, top, fromMs, forMs, kind, children }: CurveProps) {
  const line = points.map(({ atMs, value }) => {
    const x = (WIDTH * (atMs - fromMs)) / Math.max(1, forMs);
    return `${x.toFixed(1)},${(HEIGHT - (HEIGHT - 4) * Math.min(1, value / top)).toFixed(1)}`;
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
