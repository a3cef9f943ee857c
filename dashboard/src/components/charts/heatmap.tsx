import { memo } from "react";
import css from "./heatmap.module.css";
import type { Canvas } from "./plot.tsx";

interface Props {
  readonly canvas: Canvas;
  readonly columns: readonly (readonly (readonly [bin: number, amount: number])[])[];
  /** Returns the lower and the upper end of a bin. */
  readonly ends: (bin: number) => readonly [low: number, high: number];
}

/**
 * A cell for each bin that has values. Its opacity grows with the square root of the number of values, so that rare values are
 * seen.
 */
export const Heatmap = memo(function Heatmap({ canvas: { x, y, step }, columns, ends }: Props) {
  const most = Math.max(1, ...columns.flatMap((bins) => bins.map(([, amount]) => amount)));
  return columns.map((bins, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: buckets never move, so the index identifies one
    <g key={index} className={css.cells}>
      {bins.map(([bin, amount]) => {
        const [low, high] = ends(bin);
        const top = y(high);
        return (
          <rect
            key={bin}
            x={x(index)}
            y={top}
            width={Math.max(1, step - (step > 4 ? 1 : 0))}
            height={Math.max(1.5, y(low) - top - 0.5)}
            fillOpacity={0.18 + 0.72 * Math.sqrt(amount / most)}
          />
        );
      })}
    </g>
  ));
});
