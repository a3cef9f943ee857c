import type { ExecutionRow, SandboxRow } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { duration } from "../../components/format.ts";
import { colourOf } from "../../components/verdict.tsx";
import css from "./timeline.module.css";

interface Props {
  readonly sandbox: SandboxRow;
  /** Newest first, at least one. */
  readonly of: readonly ExecutionRow[];
}

/** When executions ran, one above the other, with the colours of their verdicts. The table of the executions has the same in words. */
export function Timeline({ sandbox, of: rows }: Props) {
  const { fromMs, toMs } = rangeOf(sandbox, rows);
  const share = (ms: number) => Math.min(100, Math.max(0, (100 * (ms - fromMs)) / (toMs - fromMs)));
  const sinceStart = fromMs - Date.parse(sandbox.startedAt ?? sandbox.createdAt);
  return (
    <figure className={css.timeline} aria-label="Timeline of the executions">
      <div aria-hidden="true" className={css.lanes}>
        {rows.toReversed().map((one) => {
          const start = Math.min(99.5, share(Date.parse(one.startedAt)));
          const end = one.completedAt === null ? 100 : share(Date.parse(one.completedAt));
          return (
            <div key={one.number} className={css.lane}>
              <span className={css.number}>{one.number}</span>
              <span className={css.track}>
                {one.completedAt !== null && leavesProcesses(one) && (
                  <span className={css.left} style={{ left: `${end}%`, width: `${100 - end}%` }} />
                )}
                <span
                  className={css.bar}
                  data-running={one.completedAt === null || undefined}
                  style={{
                    left: `${start}%`,
                    width: `${Math.max(0, end - start)}%`,
                    ...(one.verdict !== null && { background: colourOf(one) }),
                  }}
                />
              </span>
            </div>
          );
        })}
      </div>
      <figcaption className={css.caption}>
        <span>{duration(Math.max(0, sinceStart))} after the start of the sandbox</span>
        {rows.some(leavesProcesses) && <span>pale: processes that an execution in the background has left</span>}
        <span>
          {duration(toMs - fromMs)} later{sandbox.ended !== null && `; the sandbox ended: ${sandbox.ended}`}
        </span>
      </figcaption>
    </figure>
  );
}

/** From the first start to the last end, or to now or the end of the sandbox while something goes on. */
function rangeOf({ endedAt }: SandboxRow, rows: readonly ExecutionRow[]) {
  const fromMs = Math.min(...rows.map(({ startedAt }) => Date.parse(startedAt)));
  const lastMs = Math.max(...rows.map((one) => Date.parse(one.completedAt ?? one.startedAt)));
  const goesOn = rows.some((one) => one.completedAt === null || leavesProcesses(one));
  const endMs = endedAt === null ? Date.now() : Date.parse(endedAt);
  return { fromMs, toMs: Math.max(fromMs + 1, goesOn ? Math.max(lastMs, endMs) : lastMs) };
}

/** Whether processes of the execution went on after its end. */
function leavesProcesses({ background, processesLeft }: ExecutionRow): boolean {
  return background && (processesLeft ?? 0) > 0;
}
