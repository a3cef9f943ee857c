import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { JudgementRow } from "../../../../src/http/dashboard/api/judgements.ts";
import type { Search } from "../../client/search.ts";
import { useChoiceOfAccounts } from "../../client/session.ts";
import { Page } from "../../components/page.tsx";
import { ProblemChoice } from "../../components/problem-select.tsx";
import { JUDGEMENT_WORDS } from "../../components/verdict.tsx";
import { Filters } from "../../lists/filters.tsx";
import { judgementSource, ORIGIN, RESULT } from "../../lists/judgement-list.tsx";
import { type ListColumn, NewestList } from "../../lists/live-list.tsx";

const route = getRouteApi("/inside/judgements");

const ACCOUNT: ListColumn<JudgementRow> = { head: "Account", cell: ({ account }) => account.name };

const SOURCE = judgementSource(50);

export function JudgementsPage() {
  const text = JSON.stringify(route.useSearch());
  const search: Search = useMemo(() => JSON.parse(text), [text]);
  const navigate = useNavigate();
  const manyAccounts = useChoiceOfAccounts().length > 0;
  const show = (next: typeof search) => navigate({ to: "/judgements", search: next });
  return (
    <Page title="Judgements" lead="Programs on many tests, newest first. Each run is also a submission.">
      <Filters what="judgement" verdicts={JUDGEMENT_WORDS} search={search} onChange={show}>
        <ProblemChoice
          account={search.account}
          none="Any"
          value={search.problem ?? ""}
          onChange={(id) => show({ ...search, problem: id || undefined })}
        />
      </Filters>
      <NewestList
        source={SOURCE}
        search={search}
        what="judgement"
        columns={manyAccounts ? [...RESULT, ACCOUNT, ...ORIGIN] : [...RESULT, ...ORIGIN]}
        onOrder={(order) => show({ ...search, order })}
      >
        Add tests to a program in the <Link to="/playground">playground</Link>, or send{" "}
        <a href="/docs/judging">a judgement</a> with an API key.
      </NewestList>
    </Page>
  );
}
