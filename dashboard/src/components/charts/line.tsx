import { memo } from "react";
import css from "./line.module.css";
import type { Canvas } from "./plot.tsx";

interface Props {
  readonly canvas: Canvas;
  readonly values: readonly (number | null)[];
  readonly colour: string;
  /** Lengths of dashes and gaps, so that lines differ without their colours. */
  readonly dashes?: string | undefined;
}

/**
 * A line with gaps where data is missing. A value without neighbours is a line as wide as its bucket. A border separates the line
 * from what is behind it.
 */
export const Line = memo(function Line({ canvas: { x, y, step }, values, colour, dashes }: Props) {
  const runs: [number, number][][] = [];
  const run: [number, number][] = [];
  for (const [index, value] of [...values, null].entries()) {
    if (value !== null) run.push([x(index) + step / 2, y(value)]);
    else if (run.length > 0) runs.push(run.splice(0));
  }
  return runs.map((points) => {
    const [first] = points;
    if (!first) return null;
    const [left, top] = first;
    const ends: [number, number][] =
      points.length > 1
        ? points
        : [
            [left - step / 2, top],
            [left + step / 2, top],
          ];
    const path = ends.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
    return (
      <g key={left} className={css.line}>
        <polyline className={css.border} points={path} />
        <polyline points={path} style={{ stroke: colour }} strokeDasharray={dashes} />
      </g>
    );
  });
});
