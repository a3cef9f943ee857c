import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Hosts, Totals } from "../../../../src/http/dashboard/api/network.ts";
import { fetchPage, MAX_OPTIONS, type NetworkOwner, queries } from "../../client/api.ts";
import type { NetworkSearch } from "../../client/search.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count, counted, size } from "../../components/format.ts";
import { LoadMore } from "../../components/load-more.tsx";
import { Section } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { Bytes, HOST_COLUMNS } from "../../egress/host-table.tsx";
import css from "./network.module.css";

type Day = Totals["days"][number];
type HostOfDay = Hosts["hosts"][number];

const DAY_MS = 86_400_000;
/** Periods up to today, by the name that they have in the address of the page. */
const PERIODS = { "7d": 7, "30d": 30, "90d": 90 } as const;
const USUAL = "7d";

/** The days of a period, in UTC, as the service counts them. */
function daysOf(period: string | undefined) {
  const days = PERIODS[(period ?? USUAL) as keyof typeof PERIODS] ?? PERIODS[USUAL];
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return { from: dayOf(Date.now() - (days - 1) * DAY_MS), to: dayOf(Date.now()) };
}

interface Props {
  readonly owner: NetworkOwner;
  readonly search: NetworkSearch;
  readonly onFilter: (changed: NetworkSearch) => void;
}

/** What sandboxes reached and what was refused: totals of each day, and hosts. */
export function Reached({ owner, search, onFilter }: Props) {
  const period = daysOf(search.days);
  const totals = useQuery({ ...queries.egressTotals(owner, period), refetchInterval: 60_000 });
  return (
    <>
      <Section
        title="By day"
        actions={
          <NativeSelect
            aria-label="Period"
            value={search.days ?? USUAL}
            onChange={({ currentTarget: { value } }) =>
              onFilter({ days: value === USUAL ? undefined : value, day: undefined })
            }
            data={Object.entries(PERIODS).map(([value, days]) => ({ value, label: `Last ${days} days` }))}
          />
        }
      >
        <QueryBoundary query={totals} placeholder={<TableSkeleton rows={4} />}>
          {({ days }) => <Days of={days} onSelect={(day) => onFilter({ day })} />}
        </QueryBoundary>
      </Section>
      {(search.day !== undefined || totals.data?.days.length !== 0) && (
        <HostList owner={owner} search={search} period={period} days={totals.data?.days ?? []} onFilter={onFilter} />
      )}
    </>
  );
}

function Days({ of: days, onSelect }: { of: readonly Day[]; onSelect: (day: string) => void }) {
  if (days.length === 0)
    return (
      <EmptyState title="Nothing was reached, and nothing was refused">
        A sandbox has a network only if its request asks for one (<a href="/docs/sandboxes#network">documentation</a>).
      </EmptyState>
    );
  const sum = (of: (day: Day) => number) => days.reduce((total, day) => total + of(day), 0);
  const columns: readonly Column<Day>[] = [
    {
      head: "Day (UTC)",
      cell: ({ day }) => (
        <Button
          variant="subtle"
          size="compact-sm"
          className={css.day}
          aria-label={`Show the hosts of ${day}`}
          onClick={() => onSelect(day)}
        >
          {day}
        </Button>
      ),
    },
    { head: "Connections", number: true, cell: ({ connections }) => count(connections) },
    { head: "Refused", number: true, cell: ({ denied }) => count(denied) },
    { head: "Sent", number: true, cell: ({ bytes_up }) => <Bytes of={bytes_up} /> },
    { head: "Received", number: true, cell: ({ bytes_down }) => <Bytes of={bytes_down} /> },
  ];
  return (
    <>
      <p className={css.total}>
        In all,{" "}
        {counted(
          sum(({ connections }) => connections),
          "connection was",
          "connections were",
        )}{" "}
        made and {count(sum(({ denied }) => denied))} refused; {size(sum(({ bytes_up }) => bytes_up))} were sent and{" "}
        {size(sum(({ bytes_down }) => bytes_down))} received.
      </p>
      <DataTable caption="Totals by day" columns={columns} rows={days} rowKey={({ day }) => day} />
    </>
  );
}

interface HostListProps extends Props {
  readonly period: { readonly from: string; readonly to: string };
  readonly days: readonly Day[];
}

function HostList({ owner, search: { day, decision, project }, period, days, onFilter }: HostListProps) {
  const which = { ...(day === undefined ? period : { from: day, to: day }), decision };
  const list = usePaginatedQuery(["/hosts", owner, which], (after) => fetchPage.hosts(owner, which, after));
  const projects = usePaginatedQuery(["/projects", "any", MAX_OPTIONS], (before) =>
    fetchPage.projects("any", before, MAX_OPTIONS),
  );
  const names = new Map(projects.data?.flatMap((page) => page.projects).map(({ id, name }) => [id, name]));
  const columns: readonly Column<HostOfDay>[] = [
    HOST_COLUMNS.host,
    ...(project === undefined ? [projectColumn(names)] : []),
    ...(day === undefined
      ? [{ head: "Day (UTC)", cell: (row: HostOfDay) => <span className={css.day}>{row.day}</span> }]
      : []),
    HOST_COLUMNS.decision,
    HOST_COLUMNS.connections,
    HOST_COLUMNS.sent,
    HOST_COLUMNS.received,
  ];
  const known = days.map((one) => one.day);
  const chosen = day === undefined || known.includes(day) ? known : [day, ...known];
  return (
    <Section
      title="By host"
      actions={
        <>
          <NativeSelect
            aria-label="Day"
            value={day ?? ""}
            onChange={({ currentTarget }) => onFilter({ day: currentTarget.value || undefined })}
            data={[{ value: "", label: "All days" }, ...chosen]}
          />
          <NativeSelect
            aria-label="Decision"
            value={decision ?? ""}
            onChange={({ currentTarget }) => onFilter({ decision: currentTarget.value || undefined })}
            data={[
              { value: "", label: "Allowed and refused" },
              { value: "allowed", label: "Only allowed" },
              { value: "denied", label: "Only refused" },
            ]}
          />
        </>
      }
    >
      <QueryBoundary query={list} placeholder={<TableSkeleton rows={6} />}>
        {(pages) => {
          const rows = pages.flatMap(({ hosts }) => hosts);
          if (rows.length === 0)
            return (
              <EmptyState title={day === undefined && decision === undefined ? "No hosts" : "No host matches"}>
                Sandboxes with a network appear here (<a href="/docs/sandboxes#network">documentation</a>).
              </EmptyState>
            );
          return (
            <DataTable
              caption="Hosts by day"
              columns={columns}
              rows={rows}
              rowKey={(row) => `${row.day} ${row.projectId ?? ""} ${row.decision} ${row.name ?? ""}`}
            />
          );
        }}
      </QueryBoundary>
      <LoadMore query={list} />
    </Section>
  );
}

function projectColumn(names: ReadonlyMap<string, string>): Column<HostOfDay> {
  return {
    head: "Project",
    cell: ({ projectId }) =>
      projectId === null ? (
        "none"
      ) : (
        <Link to="/projects/$id" params={{ id: projectId }}>
          {names.get(projectId) ?? projectId.slice(0, 8)}
        </Link>
      ),
  };
}
