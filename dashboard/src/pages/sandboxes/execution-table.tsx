import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { ExecutionRow, SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { counted, duration, size } from "../../components/format.ts";
import { LoadMore } from "../../components/load-more.tsx";
import { PlainText } from "../../components/program-text.tsx";
import { EmptyState } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { Verdict } from "../../components/verdict.tsx";
import css from "./sandboxes.module.css";
import { Timeline } from "./timeline.tsx";

/** The most executions on the timeline. */
const MOST_LANES = 16;

interface Props {
  readonly of: SandboxDetail;
  readonly onSelect: (number: number) => void;
}

/** The executions of a sandbox: a timeline of the newest, and a table of all that are loaded. */
export function ExecutionTable({ of: { row: sandbox, executions: newest }, onSelect }: Props) {
  const queryClient = useQueryClient();
  const first = newest.executions[0]?.number ?? 0;
  const key = ["/sandboxes/executions", sandbox.id];
  // The stream of the sandbox has the newest executions. Older ones are requested when a person asks for them.
  const older = usePaginatedQuery(key, (before) => fetchPage.executions(sandbox.id, before ?? String(first + 1)));
  useOnChange(JSON.stringify(newest), () => void queryClient.invalidateQueries({ queryKey: key }));
  const byNumber = new Map(older.data?.flatMap(({ executions }) => executions).map((one) => [one.number, one]));
  for (const one of newest.executions) byNumber.set(one.number, one);
  const rows = [...byNumber.values()].sort((a, b) => b.number - a.number);
  if (rows.length === 0)
    return (
      <EmptyState title="No executions yet">
        Start one with <code>POST /api/sandboxes/{sandbox.id}/executions</code> (
        <a href="/docs/sandboxes">documentation</a>).
      </EmptyState>
    );
  const columns: readonly Column<ExecutionRow>[] = [
    {
      head: "Execution",
      cell: ({ number }) => (
        <Button
          variant="subtle"
          size="compact-sm"
          aria-label={`Show execution ${number}`}
          onClick={() => onSelect(number)}
        >
          {number}
        </Button>
      ),
    },
    {
      head: "Command",
      cell: ({ command, background, processesLeft }) => (
        <>
          <span className={css.command}>
            <PlainText text={command} />
          </span>
          {background && <span className={css.note}>in the background</span>}
          {(processesLeft ?? 0) > 0 && (
            <span className={css.note}>
              {counted(processesLeft ?? 0, "process", "processes")} {background ? "left running" : "killed at its end"}
            </span>
          )}
        </>
      ),
    },
    { head: "Verdict", cell: (one) => <Verdict of={one} /> },
    { head: "Started", cell: ({ startedAt }) => <Timestamp at={startedAt} /> },
    { head: "Wall time", number: true, cell: ({ wallMs }) => wallMs !== null && duration(wallMs) },
    { head: "CPU time", number: true, cell: ({ cpuMs }) => cpuMs !== null && duration(cpuMs) },
    { head: "Memory", number: true, cell: ({ memoryBytes }) => memoryBytes !== null && size(memoryBytes) },
  ];
  return (
    <>
      <Timeline sandbox={sandbox} of={rows.slice(0, MOST_LANES)} />
      <DataTable
        caption="Executions, newest first"
        columns={columns}
        rows={rows}
        rowKey={({ number }) => String(number)}
      />
      <LoadMore query={older} />
    </>
  );
}

/** Calls a function when the value is another one than before. */
function useOnChange(value: string, act: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the value matters
  useEffect(act, [value]);
}
