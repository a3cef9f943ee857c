import { Button, Switch } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { JudgedTest, JudgementDetail, TestLimits } from "../../../src/http/dashboard/api/judgements.ts";
import { type Column, DataTable } from "../components/data-table.tsx";
import { count, counted, duration, size } from "../components/format.ts";
import { EmptyState } from "../components/query-boundary.tsx";
import { Verdict } from "../components/verdict.tsx";
import { LimitBar } from "./limit-bar.tsx";
import { isFailure, stateText } from "./test-states.ts";
import css from "./test-table.module.css";

/** Number of rows that are shown at first, because browsers lay out large tables slowly. */
const SHOWN = 50;

interface Numbered extends JudgedTest {
  readonly at: number;
  readonly limits: TestLimits | undefined;
}

interface Props {
  readonly of: JudgementDetail;
  readonly onSelect: (test: number) => void;
}

/** The tests with the time and the memory of their runs, next to the limits. */
export function TestTable({ of: { tests, limits }, onSelect }: Props) {
  const [whole, setWhole] = useState(false);
  const [failed, setFailed] = useState(false);
  const all = tests.map((test, at): Numbered => ({ ...test, at, limits: limits[at] }));
  const rows = failed ? all.filter(isFailure) : all;
  const failures = tests.filter(isFailure).length;
  const isGrouped = tests.some(({ group }) => group !== "");
  const columns: readonly Column<Numbered>[] = [
    {
      head: "Test",
      cell: ({ at, name }) => (
        <Button variant="subtle" size="compact-sm" onClick={() => onSelect(at)}>
          {name === String(at + 1) ? name : `${at + 1}: ${name}`}
        </Button>
      ),
    },
    { head: "Verdict", cell: (test) => <StateOf test={test} /> },
    ...(isGrouped ? [{ head: "Group", cell: ({ group }: Numbered) => group || "none" }] : []),
    {
      head: "Points",
      number: true,
      cell: ({ points, maxPoints }) => <span className={css.points}>{`${count(points)} of ${count(maxPoints)}`}</span>,
    },
    ...MEASURES.map(
      ({ head, unit, value, limit }): Column<Numbered> => ({
        head,
        number: true,
        cell: (test) => <LimitBar value={value(test)} limit={test.limits && limit(test.limits)} unit={unit} />,
      }),
    ),
    {
      head: "Run",
      cell: ({ submissionId: id }) =>
        id && (
          <Link to="/submissions/$id" params={{ id }} className={css.id} title={id}>
            {id.slice(0, 8)}
          </Link>
        ),
    },
  ];
  return (
    <>
      <div className={css.header}>
        {tests.length > 1 && (
          <Switch
            label={`Only failed tests (${failures})`}
            checked={failed}
            onChange={({ currentTarget }) => setFailed(currentTarget.checked)}
          />
        )}
        {limits.length > 0 && <p>{limitWords(limits)}</p>}
      </div>
      {rows.length === 0 ? (
        <EmptyState title="No test failed">
          <Button variant="default" onClick={() => setFailed(false)}>
            Show all tests
          </Button>
        </EmptyState>
      ) : (
        <div className={css.tests}>
          <DataTable
            caption="Runs"
            columns={columns}
            rows={whole ? rows : rows.slice(0, SHOWN)}
            rowKey={({ at }) => String(at)}
          />
        </div>
      )}
      {!whole && rows.length > SHOWN && (
        <div className={css.showAll}>
          <Button variant="default" onClick={() => setWhole(true)}>
            {`Show all ${counted(rows.length, "test")}`}
          </Button>
        </div>
      )}
    </>
  );
}

export function StateOf({ test: { state } }: { test: Pick<JudgedTest, "state"> }) {
  if (state === "waiting" || state === "queued" || state === "skipped")
    return <span className={css.notRun}>{stateText(state)}</span>;
  return <Verdict of={{ verdict: state, status: "completed" }} />;
}

const MEASURES: readonly {
  readonly head: string;
  readonly unit: (value: number) => string;
  readonly value: (test: JudgedTest) => number | null;
  readonly limit: (limits: TestLimits) => number;
}[] = [
  { head: "CPU time", unit: ms, value: ({ cpuMs }) => cpuMs, limit: ({ cpuMs }) => cpuMs },
  { head: "Wall time", unit: ms, value: ({ wallMs }) => wallMs, limit: ({ wallMs }) => wallMs },
  { head: "Memory", unit: size, value: ({ memoryBytes }) => memoryBytes, limit: ({ memoryBytes }) => memoryBytes },
];

/** The limits in words. A limit that is not the same for all tests is a range. */
function limitWords(limits: readonly TestLimits[]): string {
  const texts = MEASURES.map(({ head, unit, limit }) => {
    const values = limits.map(limit);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return `${head} ${least === most ? unit(most) : `${unit(least)} to ${unit(most)}`}`;
  });
  return `Limits: ${texts.join(", ")}.`;
}

function ms(value: number): string {
  return duration(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}
