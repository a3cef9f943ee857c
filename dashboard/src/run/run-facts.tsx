import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { useAccountOptions } from "../client/session.ts";
import { Copyable } from "../components/copyable.tsx";
import { duration, exact, size } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import css from "./run-view.module.css";

interface Props {
  readonly of: SubmissionDetail;
  /** Whether to show only the facts that were measured, because the page already shows the others. */
  readonly isShort: boolean;
}

/** The facts of a run, such as its language, times and key, with links to their pages or lists. */
export function RunFacts({ of: { row, run, record, originalId, attempts }, isShort }: Props) {
  const manyAccounts = useAccountOptions().length > 0;
  const { id, language, profile, project, key, account, createdAt } = row;
  const { wall_time_secs: wall, cpu_time_secs: cpu, memory_peak_bytes: memory } = record.metrics;
  const { exit_code: code, cause } = record.result;
  const used: readonly (Fact | false)[] = [
    wall !== null && ["Wall time", seconds(wall)],
    cpu !== null && ["CPU time", seconds(cpu)],
    memory !== null && ["Memory", size(memory)],
    code !== null && cause === "nonzero_exit" && ["Exit code", code],
  ];
  const around: readonly (Fact | false)[] = [
    [
      "Key",
      <Link key="key" to="/submissions" search={{ key: key.id }}>
        {key.name}
      </Link>,
    ],
    project !== null && [
      "Project",
      <Link key="project" to="/projects/$id" params={{ id: project.id }}>
        {project.name}
      </Link>,
    ],
    manyAccounts && [
      "Account",
      <Link key="account" to="/submissions" search={{ account: account.id }}>
        {account.name}
      </Link>,
    ],
    run !== null && [
      "Judgement",
      <Link key="run" to="/judgements/$id" params={{ id: run.judgementId }} search={{ test: run.test + 1 }}>
        test {run.test + 1} of {run.judgementId.slice(0, 8)}
      </Link>,
    ],
    originalId !== null && [
      "Repeats",
      <Link key="original" to="/submissions/$id" params={{ id: originalId }}>
        {originalId.slice(0, 8)}
      </Link>,
    ],
    attempts > 1 && ["Attempts", attempts],
    [
      "Submitted",
      <span key="submitted">
        {exact(createdAt)} (<Timestamp at={createdAt} />)
      </span>,
    ],
    ["Id", <Copyable key="id" text={id} what="id of the submission" short />],
  ];
  const program: readonly (Fact | false)[] = [
    [
      "Language",
      <Link key="language" to="/languages">
        {language}
      </Link>,
    ],
    profile !== "judge" && ["Profile", profile],
  ];
  return (
    <dl className={css.facts}>
      {(isShort ? used : [...program, ...used, ...around]).map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

type Fact = readonly [name: string, value: ReactNode];

function seconds(secs: number): string {
  return duration(Math.round(secs * 10_000) / 10);
}
