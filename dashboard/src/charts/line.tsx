import type { Canvas } from "./plot.tsx";

interface Props {
  readonly canvas: Canvas;
  readonly values: readonly (number | null)[];
  readonly colour: string;
  readonly dashed?: boolean;
}

/** A line with gaps where data is missing; a point for a single value. */
export function Line({ canvas: { x, y, step }, values, colour, dashed }: Props) {
  const runs: [number, number][][] = [];
  const run: [number, number][] = [];
  for (const [index, value] of [...values, null].entries()) {
    if (value !== null) run.push([x(index) + step / 2, y(value)]);
    else if (run.length > 0) runs.push(run.splice(0));
  }
  return runs.map((points) => {
    const [first] = points;
    if (!first) return null;
    const key = first[0];
    if (points.length === 1) return <circle key={key} cx={first[0]} cy={first[1]} r={2} style={{ fill: colour }} />;
    const path = points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
    return (
      <polyline
        key={key}
        points={path}
        style={{ stroke: colour }}
        fill="none"
        strokeWidth={1.75}
        strokeDasharray={dashed ? "4 3" : undefined}
        strokeLinejoin="round"
      />
    );
  });
}
