import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { JudgementRow } from "../../../src/http/dashboard/api/judgements.ts";
import { part } from "../api.ts";
import type { Column } from "../pieces/data-table.tsx";
import { Page } from "../pieces/page.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { count, duration } from "../pieces/words.ts";
import { useChoiceOfAccounts } from "../session.ts";
import { Filters } from "../submissions/filters.tsx";
import type { Source } from "../submissions/newest.ts";
import css from "../submissions/newest-list.module.css";
import { NewestList } from "../submissions/newest-list.tsx";
import { JUDGEMENT_WORDS, Verdict } from "../submissions/verdict.tsx";

const route = getRouteApi("/inside/judgements");

const COLUMNS: readonly Column<JudgementRow>[] = [
  { head: "Verdict", cell: (row) => <Verdict of={row} /> },
  {
    head: "Judgement",
    cell: ({ id }) => (
      <Link to="/judgements/$id" params={{ id }} className={css.id} title={id} data-row>
        {id.slice(0, 8)}
      </Link>
    ),
  },
  { head: "Passed", number: true, cell: ({ passed, total }) => `${count(passed)} of ${count(total)}` },
  { head: "Points", number: true, cell: ({ score }) => (score === null ? "" : count(score)) },
  { head: "Language", cell: ({ language }) => language },
  { head: "Project", cell: ({ project }) => project?.name ?? "none" },
  { head: "Key", cell: ({ key }) => key.name },
  { head: "Took", number: true, cell: (row) => took(row) },
  { head: "Accepted", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

const ACCOUNT: Column<JudgementRow> = { head: "Account", cell: ({ account }) => account.name };

const SOURCE: Source<JudgementRow> = {
  name: "/judgements",
  ask: async (search, before) => {
    const { judgements: rows, next } = await part.judgements(search, before);
    return { rows, next };
  },
};

export function JudgementsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const manyAccounts = useChoiceOfAccounts().length > 0;
  return (
    <Page title="Judgements" lead="Programs on many tests, newest first. Each run is also a submission.">
      <Filters
        what="judgement"
        verdicts={JUDGEMENT_WORDS}
        search={search}
        onChange={(next) => navigate({ to: "/judgements", search: next })}
      />
      <NewestList
        source={SOURCE}
        search={search}
        what="judgement"
        columns={manyAccounts ? [...COLUMNS.slice(0, 5), ACCOUNT, ...COLUMNS.slice(5)] : COLUMNS}
      >
        Add tests to a program in the <Link to="/playground">playground</Link>, or send{" "}
        <a href="/docs/judging">a judgement</a> with an API key.
      </NewestList>
    </Page>
  );
}

function took({ createdAt, completedAt }: JudgementRow): string {
  return completedAt ? duration(Date.parse(completedAt) - Date.parse(createdAt)) : "";
}
