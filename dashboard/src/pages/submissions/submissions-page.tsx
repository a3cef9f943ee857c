import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import type { SubmissionRow } from "../../../../src/http/dashboard/api/submissions.ts";
import { addressOf, fetchPage } from "../../client/api.ts";
import type { Search } from "../../client/search.ts";
import { useAccountOptions } from "../../client/session.ts";
import { CAUSES } from "../../components/causes.ts";
import { duration } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { VERDICT_NAMES, Verdict } from "../../components/verdict.tsx";
import { Filters } from "../../lists/filters.tsx";
import type { ListTableHandle } from "../../lists/list-table.tsx";
import { type ListColumn, LiveList } from "../../lists/live-list.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import type { ListSource } from "../../lists/use-live-list.ts";
import css from "./run-panel.module.css";
import { Panel } from "./run-panel.tsx";

const route = getRouteApi("/inside/submissions");

const COLUMNS: readonly ListColumn<SubmissionRow>[] = [
  { head: "Verdict", cell: (row) => <Verdict of={row} /> },
  { head: "Submission", cell: ({ id }) => <RowLink to="/submissions/$id" id={id} /> },
  { head: "Language", cell: ({ language }) => language },
  { head: "Profile", cell: ({ profile }) => profile },
  { head: "Project", cell: ({ project }) => project?.name ?? "none" },
  { head: "Key", cell: ({ key }) => key.name },
  { head: "Took", number: true, cell: (row) => took(row) },
  { head: "Submitted", cell: ({ createdAt }) => <Timestamp at={createdAt} />, isOrder: true },
];

const ACCOUNT: ListColumn<SubmissionRow> = { head: "Account", cell: ({ account }) => account.name };

/** Above this width, run-panel.module.css shows a run next to the list. */
const SIDE_BY_SIDE = "(width > 68rem)";

const FIRST = 50;
const MORE = 500;

const SOURCE: ListSource<SubmissionRow> = {
  path: "/submissions",
  limit: FIRST,
  load: async (search, before) => {
    const { submissions: rows, next, mark } = await fetchPage.submissions(search, before, before ? MORE : FIRST);
    return { rows, next, mark };
  },
};

export function SubmissionsPage() {
  const { search, opened } = useSearch();
  const navigate = useNavigate();
  const table = useRef<ListTableHandle>(null);
  const manyAccounts = useAccountOptions().length > 0;
  const go = (next: Search) => navigate({ to: "/submissions", search: next });
  const open = (id: string | undefined) => {
    if (id !== undefined && !window.matchMedia(SIDE_BY_SIDE).matches)
      return navigate({ to: "/submissions/$id", params: { id } });
    // The first run that is opened is a new entry of the browser's history, so that Back closes it. The next ones replace the
    // entry.
    return navigate({
      to: "/submissions",
      search: { ...search, open: id },
      replace: opened !== undefined && id !== undefined,
      resetScroll: false,
    });
  };
  return (
    <Page title="Submissions">
      <Filters
        what="submission"
        verdicts={VERDICT_NAMES}
        causes={CAUSES}
        search={search}
        onChange={go}
        csv={addressOf("/submissions/csv", search)}
      />
      <div className={opened && css.sideBySide}>
        <LiveList
          source={SOURCE}
          search={search}
          what="submission"
          columns={manyAccounts ? [...COLUMNS.slice(0, 4), ACCOUNT, ...COLUMNS.slice(4)] : COLUMNS}
          onOrder={(order) => go({ ...search, order })}
          open={open}
          opened={opened}
          handle={table}
        >
          Run a first program in the <Link to="/playground">playground</Link>, or submit one with an API key.
        </LiveList>
        {opened && <Panel id={opened} onStep={(by) => table.current?.step(by)} onClose={() => void open(undefined)} />}
      </div>
    </Page>
  );
}

/** The filters in the URL, as the same object until one of them changes, and the id of the run next to the list. */
function useSearch(): { readonly search: Search; readonly opened: string | undefined } {
  const { open: opened, ...filters } = route.useSearch();
  const text = JSON.stringify(filters);
  return { search: useMemo(() => JSON.parse(text), [text]), opened };
}

function took({ startedAt, completedAt }: SubmissionRow): string {
  return startedAt && completedAt ? duration(Date.parse(completedAt) - Date.parse(startedAt)) : "";
}
