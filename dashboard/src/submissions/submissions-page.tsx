import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { SubmissionRow } from "../../../src/http/dashboard/api/submissions.ts";
import { part } from "../api.ts";
import type { Column } from "../pieces/data-table.tsx";
import { Page } from "../pieces/page.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { duration } from "../pieces/words.ts";
import { useChoiceOfAccounts } from "../session.ts";
import { Filters } from "./filters.tsx";
import type { Source } from "./newest.ts";
import css from "./newest-list.module.css";
import { NewestList } from "./newest-list.tsx";
import { VERDICT_WORDS, Verdict } from "./verdict.tsx";

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

const SOURCE: Source<SubmissionRow> = {
  name: "/submissions",
  ask: async (search, before) => {
    const { submissions: rows, next } = await part.submissions(search, before);
    return { rows, next };
  },
};

export function SubmissionsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const manyAccounts = useChoiceOfAccounts().length > 0;
  return (
    <Page title="Submissions" lead="All runs, newest first.">
      <Filters
        what="submission"
        verdicts={VERDICT_WORDS}
        search={search}
        onChange={(next) => navigate({ to: "/submissions", search: next, replace: true })}
      />
      <NewestList
        source={SOURCE}
        search={search}
        what="submission"
        columns={manyAccounts ? [...COLUMNS.slice(0, 4), ACCOUNT, ...COLUMNS.slice(4)] : COLUMNS}
      >
        Run a first program in the <Link to="/playground">playground</Link>, or submit one with an API key.
      </NewestList>
    </Page>
  );
}

function took({ startedAt, completedAt }: SubmissionRow): string {
  return startedAt && completedAt ? duration(Date.parse(completedAt) - Date.parse(startedAt)) : "";
}
