import { useElementSize } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useId, useMemo, useRef } from "react";
import type { Search } from "../../client/search.ts";
import { useCursor } from "./cursor.tsx";
import css from "./plot.module.css";
import type { Axis } from "./scale.ts";
import { labels, longTime } from "./time-labels.ts";
import { type BucketSelection, selectionOf } from "./times.ts";
import { ValuesTable } from "./values-table.tsx";

const HEIGHT = 184;
const LEFT = 54;
const BOTTOM = 20;
const TOP = 8;
const LABEL_PX = 64;
/** Up to this distance, a movement of the pressed pointer is a click. */
const DRAG_PX = 4;

export interface Canvas {
  /** `x` is the left edge of a bucket, `step` is its width, and `y` is the position of a value. */
  readonly x: (index: number) => number;
  readonly step: number;
  readonly y: (value: number) => number;
}

export interface LegendEntry {
  readonly name: string;
  readonly value: string;
  readonly colour?: string | undefined;
  /** Lengths of dashes and gaps of the entry's line. */
  readonly dashes?: string | undefined;
  /** The filters of the list of submissions that select those that this entry counts. Undefined: the entry is no link. */
  readonly search?: Search | undefined;
}

interface Props {
  readonly title: string;
  readonly axis: Axis;
  /** Returns the entries of the legend with their values in these buckets. */
  readonly legend: (span: BucketSelection) => readonly LegendEntry[];
  /** The text that is shown if the chart has no values; null if it has some. */
  readonly empty: string | null;
  /**
   * Called when a person clicks a bucket with the mouse, or presses Enter.
   * @param height Where the click was: 0 at the axis, 1 at the top of the plot, less or more in the margins. Null for a key.
   */
  readonly onPick: (index: number, height: number | null) => void;
  readonly actions?: ReactNode;
  /** Shown below the chart. */
  readonly below?: ReactNode;
  readonly children: (canvas: Canvas) => ReactNode;
}

/**
 * A chart over time. The pointer or the arrow keys choose a bucket in all charts, and the legend above each chart shows the chart's
 * values in that bucket. The space for these values is always reserved. Where charts can zoom, dragging, or Shift with the arrow
 * keys, selects the buckets to zoom in on.
 */
export function Plot({ title, axis, legend, empty, onPick, actions, below, children }: Props) {
  const { ref, width } = useElementSize();
  const name = useId();
  const cursor = useCursor();
  const { starts, at, choose, selected, select, zoom } = cursor;
  const pressed = useRef<{ readonly index: number; readonly x: number } | null>(null);
  const step = Math.max(0, width - LEFT) / Math.max(1, starts.length);
  const last = starts.length - 1;
  const canvas = useMemo<Canvas>(
    () => ({
      x: (index) => LEFT + index * step,
      step,
      y: (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - axis.position(value)),
    }),
    [axis, step],
  );
  const drawn = useMemo(() => (width > 0 ? children(canvas) : null), [children, canvas, width]);
  const { x, y } = canvas;
  const span: BucketSelection = selected ?? (at === null ? [0, last] : [at, at]);
  const isAll = selected === null && at === null;
  const rows = legend(span);

  const indexAt = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const index = Math.floor((clientX - currentTarget.getBoundingClientRect().left - LEFT) / step);
    return index >= 0 && index <= last ? index : null;
  };
  const down = (event: PointerEvent<HTMLElement>) => {
    const index = indexAt(event);
    if (event.button !== 0 || index === null) return;
    pressed.current = { index, x: event.clientX };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent<HTMLElement>) => {
    const index = indexAt(event);
    choose(index);
    const from = pressed.current;
    if (zoom && from && index !== null && Math.abs(event.clientX - from.x) > DRAG_PX)
      select(selectionOf(from.index, index));
  };
  const up = (event: PointerEvent<HTMLElement>) => {
    const from = pressed.current;
    pressed.current = null;
    if (from && selected) {
      zoom?.(selected);
      select(null);
    } else if (from && event.pointerType === "mouse") {
      const { top } = event.currentTarget.getBoundingClientRect();
      onPick(from.index, 1 - (event.clientY - top - TOP) / (HEIGHT - TOP - BOTTOM));
    }
  };
  const cancel = () => {
    pressed.current = null;
    select(null);
  };
  const press = (event: KeyboardEvent) => {
    const from = at ?? last + 1;
    const next = { ArrowLeft: from - 1, ArrowRight: at === null ? 0 : from + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") {
      select(null);
      choose(null);
    }
    if (event.key === "Enter") {
      if (selected && zoom) {
        zoom(selected);
        select(null);
      } else if (at !== null) onPick(at, null);
    }
    if (next === undefined) return;
    event.preventDefault();
    const to = Math.min(last, Math.max(0, next));
    if (event.shiftKey && at !== null && zoom) {
      const fixed = selected === null ? at : selected[0] === at ? selected[1] : selected[0];
      select(selectionOf(fixed, to));
    } else select(null);
    choose(to);
  };

  return (
    <figure className={css.figure} aria-labelledby={name}>
      <figcaption className={css.caption}>
        <h3 id={name}>{title}</h3>
        {actions}
        <span className={css.period}>{isAll ? "" : longTime(cursor, span)}</span>
      </figcaption>
      <ul className={css.legend}>
        {rows.map((row) => (
          <li key={row.name}>
            <Mark {...row} />
            {row.search ? (
              <Link to="/submissions" search={row.search}>
                {row.name}
              </Link>
            ) : (
              row.name
            )}{" "}
            <b>{row.value}</b>
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
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={at ?? Math.max(0, last)}
        aria-valuetext={`${isAll ? "All of it" : longTime(cursor, span)}: ${rows.map((row) => `${row.name} ${row.value}`).join(", ")}`}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={cancel}
        onPointerLeave={({ pointerType }) => pointerType === "mouse" && choose(null)}
        onBlur={() => {
          select(null);
          choose(null);
        }}
        onKeyDown={press}
      >
        {width > 0 && (
          <svg aria-hidden="true" width={width} height={HEIGHT}>
            {axis.ticks.map(({ value, label }) => (
              <g key={value}>
                <line className={css.grid} x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
                <text className={css.axis} x={LEFT - 8} y={y(value) + 4} textAnchor="end">
                  {label}
                </text>
              </g>
            ))}
            {labels(cursor, LABEL_PX / step).map(({ index, text }) => (
              <text key={index} className={css.axis} x={x(index)} y={HEIGHT - 4}>
                {text}
              </text>
            ))}
            {drawn}
            {at !== null && (
              <rect className={css.cursor} x={x(at)} y={TOP} width={Math.max(2, step)} height={HEIGHT - TOP - BOTTOM} />
            )}
            {selected && (
              <rect
                className={css.selected}
                x={x(selected[0])}
                y={TOP}
                width={(selected[1] - selected[0] + 1) * step}
                height={HEIGHT - TOP - BOTTOM}
              />
            )}
          </svg>
        )}
        {empty !== null && <p className={css.empty}>{empty}</p>}
      </div>
      {below}
      {empty === null && <ValuesTable title={title} times={cursor} legend={legend} />}
    </figure>
  );
}

/** The mark of an entry of the legend: a square in its colour, or a piece of its line. */
function Mark({ colour, dashes }: Pick<LegendEntry, "colour" | "dashes">) {
  if (colour === undefined) return null;
  if (dashes === undefined) return <i style={{ background: colour }} />;
  return (
    <svg aria-hidden="true" className={css.dash} width={22} height={4}>
      <line x1={0} x2={22} y1={2} y2={2} style={{ stroke: colour }} strokeWidth={2} strokeDasharray={dashes} />
    </svg>
  );
}
