import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { JudgementRow } from "../../../../src/http/dashboard/api/judgements.ts";
import type { Search } from "../../client/search.ts";
import { useAccountOptions } from "../../client/session.ts";
import { Page } from "../../components/page.tsx";
import { ProblemSelect } from "../../components/problem-select.tsx";
import { JUDGEMENT_NAMES } from "../../components/verdict.tsx";
import { Filters } from "../../lists/filters.tsx";
import { judgementSource, ORIGIN_COLUMNS, RESULT_COLUMNS } from "../../lists/judgement-list.tsx";
import { type ListColumn, LiveList } from "../../lists/live-list.tsx";

const route = getRouteApi("/inside/judgements");

const ACCOUNT: ListColumn<JudgementRow> = { head: "Account", cell: ({ account }) => account.name };

const SOURCE = judgementSource(50);

export function JudgementsPage() {
  const text = JSON.stringify(route.useSearch());
  const search: Search = useMemo(() => JSON.parse(text), [text]);
  const navigate = useNavigate();
  const manyAccounts = useAccountOptions().length > 0;
  const show = (next: typeof search) => navigate({ to: "/judgements", search: next });
  return (
    <Page title="Judgements" lead="A judgement runs one program on many tests. Each run is also a submission.">
      <Filters what="judgement" verdicts={JUDGEMENT_NAMES} search={search} onChange={show}>
        <ProblemSelect
          account={search.account}
          none="Any"
          value={search.problem ?? ""}
          onChange={(id) => show({ ...search, problem: id || undefined })}
        />
      </Filters>
      <LiveList
        source={SOURCE}
        search={search}
        what="judgement"
        columns={
          manyAccounts ? [...RESULT_COLUMNS, ACCOUNT, ...ORIGIN_COLUMNS] : [...RESULT_COLUMNS, ...ORIGIN_COLUMNS]
        }
        onOrder={(order) => show({ ...search, order })}
      >
        Add tests to a program in the <Link to="/playground">playground</Link>, or send{" "}
        <a href="/docs/judging">a judgement</a> with an API key.
      </LiveList>
    </Page>
  );
}
