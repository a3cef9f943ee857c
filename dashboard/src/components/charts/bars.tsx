import { memo } from "react";
import type { Canvas } from "./plot.tsx";

interface Props {
  readonly canvas: Canvas;
  readonly stacks: readonly (readonly { readonly colour: string; readonly value: number }[])[];
}

/** A stacked bar for each bucket. */
export const Bars = memo(function Bars({ canvas: { x, y, step }, stacks }: Props) {
  const gap = step > 4 ? 1 : 0;
  return stacks.map((parts, index) => {
    let below = 0;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: buckets never move, so the index identifies one
      <g key={index}>
        {parts.map(({ colour, value }) => {
          const from = y(below);
          below += value;
          const height = from - y(below);
          return height > 0 ? (
            <rect
              key={colour}
              x={x(index)}
              y={y(below)}
              width={Math.max(1, step - gap)}
              height={height}
              style={{ fill: colour }}
            />
          ) : null;
        })}
      </g>
    );
  });
});
