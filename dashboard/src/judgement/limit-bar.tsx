import css from "./limit-bar.module.css";

interface Props {
  readonly value: number | null;
  readonly limit: number | undefined;
  readonly unit: (value: number) => string;
}

/** A value, with a bar that shows which share of the limit it is. */
export function LimitBar({ value, limit, unit }: Props) {
  if (value === null) return null;
  return (
    <span className={css.usage} {...(limit !== undefined && { title: `${unit(value)} of ${unit(limit)}` })}>
      {unit(value)}
      {/* Hidden from screen readers: the text has the value, and the line above the table has the limits. */}
      {limit !== undefined && (
        <span className={css.track} data-met={value >= limit || undefined} aria-hidden="true">
          <span style={{ width: `${100 * Math.min(1, value / limit)}%` }} />
        </span>
      )}
    </span>
  );
}
