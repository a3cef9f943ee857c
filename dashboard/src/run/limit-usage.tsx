import type { Usage } from "../../../src/http/dashboard/api/submissions.ts";
import { count, duration, size } from "../components/format.ts";
import css from "./limit-usage.module.css";

const NAMES: Readonly<Record<Usage["name"], string>> = {
  cpu: "CPU time",
  wall: "Wall time",
  memory: "Memory",
  processes: "Processes",
  stdout: "Standard output",
  stderr: "Standard error",
};

const WRITTEN: Readonly<Record<Usage["unit"], (value: number) => string>> = {
  ms: (value) => duration(Math.round(value)),
  bytes: size,
  count,
};

/** The limits of the execute step, and how much of them the program used. */
export function LimitUsage({ of: usage }: { of: readonly Usage[] }) {
  return (
    <LimitBars of={usage.map(({ name, unit, ...row }) => ({ ...row, name: NAMES[name], written: WRITTEN[unit] }))} />
  );
}

interface Bar extends Pick<Usage, "used" | "limit" | "met"> {
  readonly name: string;
  readonly written: (value: number) => string;
}

/** Values with their limits, as texts and as bars. */
export function LimitBars({ of: bars }: { of: readonly Bar[] }) {
  return (
    <ul className={css.limits}>
      {bars.map(({ name, used, limit, written, met }) => (
        <li key={name} data-met={met || undefined}>
          <span className={css.name}>{name}</span>
          {/* Hidden from screen readers: the text has the same values. */}
          <span className={css.bar} aria-hidden="true">
            <span style={{ width: `${100 * Math.min(1, used / limit)}%` }} />
          </span>
          <span className={css.values}>
            {written(used)} of {written(limit)}
            {met && <span className={css.reached}> limit reached</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
