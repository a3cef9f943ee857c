import type { JudgementState } from "../../../src/http/dashboard/api/judgements.ts";
import { count, counted, duration, size } from "../components/format.ts";
import { ErrorMessage } from "../components/query-boundary.tsx";
import { Verdict } from "../components/verdict.tsx";
import css from "./summary.module.css";
import { isFailure } from "./test-states.ts";

const TITLES: Readonly<Record<string, string>> = {
  AC: "Accepted",
  WA: "Wrong answer",
  CE: "Compilation error",
  RE: "Runtime error",
  TLE: "Time limit exceeded",
  MLE: "Memory limit exceeded",
  PLE: "Process limit exceeded",
  FSE: "File size limit exceeded",
  SIG: "Killed by a signal",
  IE: "Not judged",
};

/** The verdict in words, with the number of the test that decided it. */
export function summaryOf({ row, tests }: JudgementState): string {
  const { verdict } = row;
  if (verdict === null) return "Judging";
  const title = TITLES[verdict] ?? verdict;
  const decided = firstFailure(tests);
  // A cancelled judgement has the verdict IE, even if no test has.
  if (decided === null || verdict === "CE" || tests[decided]?.state !== verdict) return title;
  return `${title} on test ${decided + 1}`;
}

/** The index of the first test that ended without passing; null if there is none. */
export function firstFailure(tests: JudgementState["tests"]): number | null {
  const at = tests.findIndex(isFailure);
  return at < 0 ? null : at;
}

/** The result so far in one line, which screen readers announce when it changes, and the progress as a bar. */
export function JudgementSummary({ of: { row, score, maxScore, grader, tests } }: { of: JudgementState }) {
  const { passed, ended, total, verdict, createdAt, completedAt } = row;
  const most = (values: readonly (number | null)[]) => Math.max(...values.map((value) => value ?? 0));
  const [cpuMs, memoryBytes] = [most(tests.map((test) => test.cpuMs)), most(tests.map((test) => test.memoryBytes))];
  return (
    <div className={css.summary}>
      <p className={css.line} role="status">
        <Verdict of={row} />
        <span>
          <b>{count(passed)}</b> of {counted(total, "test")} passed
          {verdict === null && `, ${count(ended)} ended`}
        </span>
        <span>
          <b>{count(score)}</b> of {counted(maxScore, "point")}
        </span>
        {ended > 0 && (
          <span>
            at most {duration(Math.round(cpuMs))} CPU time, {size(memoryBytes)}
          </span>
        )}
        {completedAt && <span>took {duration(Date.parse(completedAt) - Date.parse(createdAt))}</span>}
      </p>
      {grader?.message && <ErrorMessage text={`No points: ${grader.message}.`} />}
      {verdict === null && (
        // Hidden from screen readers: the line above has the numbers.
        <span className={css.progress} aria-hidden="true">
          <span style={{ width: `${(100 * ended) / total}%` }} />
        </span>
      )}
    </div>
  );
}
