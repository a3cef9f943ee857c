import { Button } from "@mantine/core";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useRef } from "react";
import type { SubmissionRow } from "../../../src/http/dashboard/api/submissions.ts";
import { type Column, DataTable, RowsWaiting } from "../pieces/data-table.tsx";
import { More } from "../pieces/more.tsx";
import { Page } from "../pieces/page.tsx";
import { Empty, QueryBoundary } from "../pieces/query-boundary.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { counted, duration } from "../pieces/words.ts";
import { useChoiceOfAccounts } from "../session.ts";
import { Filters } from "./filters.tsx";
import { useNewest } from "./newest.ts";
import css from "./submissions.module.css";
import { Verdict } from "./verdict.tsx";

const route = getRouteApi("/inside/submissions");

const COLUMNS: readonly Column<SubmissionRow>[] = [
  { head: "Verdict", cell: (row) => <Verdict of={row} /> },
  {
    head: "Submission",
    cell: ({ id }) => (
      <Link to="/submissions/$id" params={{ id }} className={css.id} title={id} data-row>
        {id.slice(0, 8)}
      </Link>
    ),
  },
  { head: "Language", cell: ({ language }) => language },
  { head: "Profile", cell: ({ profile }) => profile },
  { head: "Project", cell: ({ project }) => project?.name ?? "none" },
  { head: "Key", cell: ({ key }) => key.name },
  { head: "Took", number: true, cell: (row) => took(row) },
  { head: "Accepted", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

const ACCOUNT: Column<SubmissionRow> = { head: "Account", cell: ({ account }) => account.name };

export function SubmissionsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const manyAccounts = useChoiceOfAccounts().length > 0;
  const { list, unseen, isWhole, show } = useNewest(search);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (unseen > 0 && isUnused(place.current)) show();
  }, [unseen, show]);
  const narrowed = Object.values(search).some(Boolean);
  return (
    <Page title="Submissions" lead="All runs, newest first.">
      <Filters search={search} onChange={(next) => navigate({ to: "/submissions", search: next, replace: true })} />
      <div className={css.above}>
        <p role="status">
          {list.data && counted(list.data.pages.flatMap((page) => page.submissions).length, "submission")}
          {list.hasNextPage && ", and older ones"}
        </p>
        {unseen > 0 && (
          <Button size="compact-sm" variant="light" onClick={show}>
            {`Show ${unseen}${isWhole ? "" : " or more"} new`}
          </Button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the links inside, which Tab also reaches */}
      <div ref={place} className={css.list} onKeyDown={betweenRows}>
        <QueryBoundary query={list} waiting={<RowsWaiting rows={12} />}>
          {({ pages }) => {
            const rows = pages.flatMap(({ submissions }) => submissions);
            if (rows.length === 0) return <Nothing narrowed={narrowed} goesOn={list.hasNextPage} />;
            return (
              <DataTable
                caption="Submissions"
                columns={manyAccounts ? [...COLUMNS.slice(0, 4), ACCOUNT, ...COLUMNS.slice(4)] : COLUMNS}
                rows={rows}
                rowKey={({ id }) => id}
              />
            );
          }}
        </QueryBoundary>
        <More query={list} />
      </div>
    </Page>
  );
}

function Nothing({ narrowed, goesOn }: { narrowed: boolean; goesOn: boolean }) {
  if (goesOn) return <Empty title="No match yet">Only the newest submissions were searched.</Empty>;
  if (narrowed) return <Empty title="No match">Change or clear the filters.</Empty>;
  return (
    <Empty title="No submissions yet">
      Run a first program in the <Link to="/playground">playground</Link>, or submit one with an API key.
    </Empty>
  );
}

function took({ startedAt, completedAt }: SubmissionRow): string {
  return startedAt && completedAt ? duration(Date.parse(completedAt) - Date.parse(startedAt)) : "";
}

/** Whether the page is at its top, without pointer or focus in the list, so that new rows disturb no reader. */
function isUnused(place: HTMLElement | null): boolean {
  return window.scrollY < 8 && !place?.matches(":hover, :focus-within");
}

function betweenRows(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.target instanceof HTMLElement) || event.target.dataset.row === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("a[data-row]")];
  links[links.indexOf(event.target) + step]?.focus();
  event.preventDefault();
}
