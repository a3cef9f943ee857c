import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from "react";
import css from "./plot.module.css";
import { labelled, steps } from "./scale.ts";

const HEIGHT = 176;
const LEFT = 54;
const BOTTOM = 20;
const TOP = 8;
const LABEL_PX = 76;

export interface Canvas {
  /** Left edge and width of a bucket, and the position of a value. */
  readonly x: (index: number) => number;
  readonly step: number;
  readonly y: (value: number) => number;
}

interface Props {
  readonly title: string;
  /** The labels of each bucket: short for the axis, and complete. */
  readonly times: readonly { readonly short: string; readonly long: string }[];
  readonly top: number;
  readonly unit: (value: number) => string;
  /** The legend of a bucket, or of the whole chart. */
  readonly told: (
    index: number | null,
  ) => readonly { readonly name: string; readonly value: string; readonly colour?: string }[];
  readonly children: (canvas: Canvas) => ReactNode;
}

/** A chart over time. Pointer or arrow keys select a bucket, whose values are shown above without moving the layout. */
export function Plot({ title, times, top, unit, told, children }: Props) {
  const { ref, width } = useElementSize();
  const [chosen, choose] = useState<number | null>(null);
  const scale = steps(top);
  const highest = scale.at(-1) ?? 1;
  const step = Math.max(0, width - LEFT) / Math.max(1, times.length);
  const x = (index: number) => LEFT + index * step;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest);
  const at = chosen === null || chosen >= times.length ? null : chosen;
  const rows = told(at);

  const follow = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const index = Math.floor((clientX - currentTarget.getBoundingClientRect().left - LEFT) / step);
    choose(index >= 0 && index < times.length ? index : null);
  };
  const press = (event: KeyboardEvent) => {
    const last = times.length - 1;
    const from = at ?? last + 1;
    const next = { ArrowLeft: from - 1, ArrowRight: at === null ? 0 : from + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") choose(null);
    if (next === undefined) return;
    event.preventDefault();
    choose(Math.min(last, Math.max(0, next)));
  };

  return (
    <figure className={css.figure}>
      <figcaption className={css.caption}>
        <h3>{title}</h3>
        <span className={css.when}>{at === null ? "" : times[at]?.long}</span>
      </figcaption>
      <ul className={css.told}>
        {rows.map(({ name, value, colour }) => (
          <li key={name}>
            {colour && <i style={{ background: colour }} />}
            {name} <b>{value}</b>
          </li>
        ))}
      </ul>
      <div
        ref={ref}
        className={css.canvas}
        role="slider"
        tabIndex={0}
        aria-label={`${title}: time`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={at ?? Math.max(0, times.length - 1)}
        aria-valuetext={`${at === null ? "All of it" : times[at]?.long}: ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`}
        onPointerMove={follow}
        onPointerLeave={() => choose(null)}
        onBlur={() => choose(null)}
        onKeyDown={press}
      >
        {width > 0 && (
          <svg aria-hidden="true" width={width} height={HEIGHT}>
            {scale.map((value) => (
              <g key={value}>
                <line className={css.grid} x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
                <text className={css.axis} x={LEFT - 8} y={y(value) + 4} textAnchor="end">
                  {unit(value)}
                </text>
              </g>
            ))}
            {labelled(times.length, LABEL_PX / step).map((index) => (
              <text key={index} className={css.axis} x={x(index)} y={HEIGHT - 4}>
                {times[index]?.short}
              </text>
            ))}
            {at !== null && (
              <rect className={css.chosen} x={x(at)} y={TOP} width={Math.max(2, step)} height={HEIGHT - TOP - BOTTOM} />
            )}
            {children({ x, y, step })}
          </svg>
        )}
      </div>
    </figure>
  );
}
