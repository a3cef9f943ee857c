import type { Span } from "../../../src/http/dashboard/api/submissions.ts";
import { duration } from "../pieces/words.ts";
import css from "./timeline.module.css";

const MEANT: Readonly<Record<Span["name"], string>> = {
  queued: "waited for a free place",
  compile: "was compiled",
  run: "ran",
  teardown: "its box was destroyed, and that was proven",
};

/** What happened one after the other, as long as it took. */
export function Timeline({ of: spans }: { of: readonly Span[] }) {
  return (
    <div className={css.timeline}>
      {/* For the eye: the list below says as much. */}
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
