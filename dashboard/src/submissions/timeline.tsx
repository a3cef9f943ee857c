import type { Span } from "../../../src/http/dashboard/api/submissions.ts";
import { duration } from "../pieces/words.ts";
import css from "./timeline.module.css";

const MEANT: Readonly<Record<Span["name"], string>> = {
  queued: "waited for a worker",
  compile: "compiled",
  run: "ran",
  teardown: "sandbox removed, and removal verified",
};

/** The phases of the run with their durations. */
export function Timeline({ of: spans }: { of: readonly Span[] }) {
  return (
    <div className={css.timeline}>
      {/* Hidden from screen readers: the list below has the same values. */}
      <div className={css.bar} aria-hidden="true">
        {spans.map(({ name, ms }) => (
          <div key={name} data-span={name} style={{ flexGrow: Math.max(ms, 0.001) }} />
        ))}
      </div>
      <ol className={css.spans}>
        {spans.map(({ name, ms }) => (
          <li key={name} data-span={name}>
            <b>{name}</b>
            <span className={css.ms}>{duration(Math.round(ms * 10) / 10)}</span>
            <span className={css.meant}>{MEANT[name]}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
