import type { Span } from "../../../src/http/dashboard/api/submissions.ts";
import { duration } from "../components/format.ts";
import css from "./timings.module.css";
import { layOutWaterfall } from "./waterfall.ts";

/**
 * The names of the spans, by step and phase. "Execute: wall time" has the same value as "Wall time" in the facts and the limits.
 */
const NAMES: Readonly<Record<string, { readonly name: string; readonly means: string }>> = {
  "queue wait": { name: "Queue", means: "From the submission to the start by a worker" },
  "compile set-up": { name: "Compile: set-up", means: "Time of the compile step outside the compiler" },
  "compile run": { name: "Compile: run", means: "Wall time of the compiler" },
  "compile teardown": { name: "Compile: teardown", means: "Removal of the sandbox, and verification of the removal" },
  "compile whole": { name: "Compile", means: "The compile step as a whole" },
  "execute set-up": { name: "Execute: set-up", means: "Time of the execute step outside the program" },
  "execute run": { name: "Execute: wall time", means: "Wall time of the program" },
  "execute teardown": { name: "Execute: teardown", means: "Removal of the sandbox, and verification of the removal" },
  "execute whole": { name: "Execute, with set-up", means: "The execute step as a whole" },
};

/** The measured parts of a run's time, from the queue to the end of its sandbox. */
export function Timings({ of: spans }: { of: readonly Span[] }) {
  const { bars, ticks } = layOutWaterfall(spans);
  return (
    <div className={css.waterfall}>
      <ol className={css.rows}>
        {bars.map(({ span: { step, phase, ms }, from, width, isCut }) => {
          const { name, means } = NAMES[`${step} ${phase}`] ?? { name: step, means: "" };
          return (
            <li key={`${step} ${phase}`} data-step={step} data-phase={phase} title={means}>
              <span className={css.name}>{name}</span>
              {/* Hidden from screen readers: the texts have the same values. */}
              <span className={css.track} aria-hidden="true">
                {ticks.map(({ ms: tick, at }) => (
                  <i key={tick} className={css.line} data-zero={tick === 0 || undefined} style={{ left: `${at}%` }} />
                ))}
                <span
                  className={css.bar}
                  data-cut={isCut || undefined}
                  style={{ left: `${from}%`, width: `${width}%` }}
                />
              </span>
              <span className={css.ms}>{duration(ms)}</span>
            </li>
          );
        })}
      </ol>
      <div className={css.axis} aria-hidden="true">
        <span className={css.track}>
          {ticks.map(({ ms, at }) => (
            <span key={ms} className={css.tick} style={{ left: `${at}%` }}>
              {ms === 0 ? "start" : ms < 0 ? `−${duration(-ms)}` : duration(ms)}
            </span>
          ))}
        </span>
      </div>
    </div>
  );
}
