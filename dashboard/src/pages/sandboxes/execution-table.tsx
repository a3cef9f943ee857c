import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { ExecutionRow, SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { duration, size } from "../../components/format.ts";
import { LoadMore } from "../../components/load-more.tsx";
import { PlainText } from "../../components/program-text.tsx";
import { EmptyState } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { Verdict } from "../../components/verdict.tsx";
import css from "./sandboxes.module.css";

interface Props {
  readonly of: SandboxDetail;
  readonly onSelect: (number: number) => void;
}

/** The executions of a sandbox, newest first, with the time of each next to the others. */
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
  const fromMs = Date.parse(rows.at(-1)?.startedAt ?? "");
  const toMs = Math.max(
    fromMs + 1,
    ...rows.map((one) => Date.parse(one.completedAt ?? sandbox.endedAt ?? one.startedAt)),
  );
  const end = rows.some(({ completedAt }) => completedAt === null) && sandbox.endedAt === null ? Date.now() : toMs;
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
      cell: ({ command }) => (
        <span className={css.command}>
          <PlainText text={command} />
        </span>
      ),
    },
    { head: "Verdict", cell: (one) => <Verdict of={one} /> },
    { head: "Started", cell: ({ startedAt }) => <Timestamp at={startedAt} /> },
    { head: "Timeline", cell: (one) => <Span of={one} fromMs={fromMs} toMs={Math.max(end, toMs)} /> },
    { head: "Wall time", number: true, cell: ({ wallMs }) => wallMs !== null && duration(wallMs) },
    { head: "CPU time", number: true, cell: ({ cpuMs }) => cpuMs !== null && duration(cpuMs) },
    { head: "Memory", number: true, cell: ({ memoryBytes }) => memoryBytes !== null && size(memoryBytes) },
  ];
  return (
    <>
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

interface SpanProps {
  readonly of: ExecutionRow;
  readonly fromMs: number;
  readonly toMs: number;
}

/** When the execution ran. It is hidden from screen readers, because other cells have its start and its duration. */
function Span({ of: { startedAt, completedAt }, fromMs, toMs }: SpanProps) {
  const share = (ms: number) => (100 * (ms - fromMs)) / Math.max(1, toMs - fromMs);
  const start = share(Date.parse(startedAt));
  const width = (completedAt === null ? 100 : share(Date.parse(completedAt))) - start;
  return (
    <span className={css.span} aria-hidden="true">
      <span style={{ left: `${Math.min(99, start)}%`, width: `${Math.max(0, width)}%` }} />
    </span>
  );
}
