import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Language } from "../../../../src/http/dashboard/api/languages.ts";
import type { SubmissionDetail } from "../../../../src/http/dashboard/api/submissions.ts";
import { isNotFound, queries } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { Page } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { type Draft, setDraft, useDraft } from "./draft.ts";
import { Playground } from "./playground.tsx";
import { PlaygroundSkeleton } from "./playground-skeleton.tsx";

const route = getRouteApi("/inside/playground");

/**
 * The playground. It begins with the program of the submission in the URL, with the draft, or with an example. If the URL has a
 * problem, that problem is selected.
 */
export function PlaygroundPage() {
  const { draft: written, isStored } = useDraft();
  const { accounts } = usePerson();
  const languages = useQuery({ ...queries.languages(), staleTime: 60_000 });
  const source = useSource(written);
  const problem = useProblem(written, languages.data);
  return (
    <Page
      title="Playground"
      lead="Write a program or choose an example, including hostile ones. Run it to see its verdict and evidence."
    >
      <QueryBoundary query={languages} placeholder={<PlaygroundSkeleton />}>
        {(all) => {
          if (all.length === 0)
            return (
              <EmptyState title="No language is configured">
                See <Link to="/languages">languages</Link>.
              </EmptyState>
            );
          if (accounts.length === 0)
            return (
              <EmptyState title="You have no account">
                Runs need an account. Ask an administrator for access; <Link to="/profile">your profile</Link> shows
                your e-mail address.
              </EmptyState>
            );
          if (source) return <Loading query={source} />;
          if (problem) return <Loading query={problem} />;
          return <Playground languages={all} now={written ?? beginning(all)} isStored={isStored} />;
        }}
      </QueryBoundary>
    </Page>
  );
}

/** The placeholder until the submission or the problem is loaded, or the error if it cannot be loaded. */
function Loading<T>({ query }: { query: UseQueryResult<T> }) {
  if (isNotFound(query.error)) {
    return (
      <EmptyState title="Not found, or you have no access to it">
        <Link to="/playground">Start with an example</Link>
      </EmptyState>
    );
  }
  return (
    <QueryBoundary query={query} placeholder={<PlaygroundSkeleton />}>
      {() => <PlaygroundSkeleton />}
    </QueryBoundary>
  );
}

/**
 * Loads the problem of `?problem=ID` once, and selects it in the draft.
 * @returns the query while the problem loads; null otherwise.
 */
function useProblem(written: Draft | undefined, languages: readonly Language[] | undefined) {
  const { problem: id } = route.useSearch();
  const [loadedId, setLoadedId] = useState<string>();
  const isChosen = id !== undefined && written?.input === "problem" && written.problem === id;
  const isNeeded = id !== undefined && id !== loadedId && !isChosen;
  const problem = useQuery({ ...queries.problem(id ?? ""), enabled: isNeeded });
  const { data } = problem;
  useEffect(() => {
    // From then on, the person can choose another input, although the URL still has the problem.
    if (isChosen) setLoadedId(id);
    if (!isNeeded || data?.id !== id || !languages) return;
    setDraft({ ...(written ?? beginning(languages)), input: "problem", problem: id, accountId: data.account.id });
  }, [isChosen, isNeeded, id, data, languages, written]);
  return isNeeded ? problem : null;
}

/**
 * Loads the submission of `?from=ID` once, and makes its program the draft. Later, each run changes the URL to its own id.
 * @returns the query while the submission loads; null otherwise.
 */
function useSource(written: Draft | undefined) {
  const { from } = route.useSearch();
  const [loadedId, setLoadedId] = useState<string>();
  const isNeeded = from !== undefined && from !== loadedId && from !== written?.from;
  const source = useQuery({ ...queries.submission(from ?? ""), enabled: isNeeded });
  const { data } = source;
  useEffect(() => {
    if (!isNeeded || data?.row.id !== from) return;
    setLoadedId(from);
    setDraft(continued(data));
  }, [isNeeded, from, data]);
  return isNeeded ? source : null;
}

/** The draft at first: the first available language with its first example. */
function beginning(languages: readonly Language[]): Draft {
  const language = languages.find(({ available }) => available) ?? languages[0];
  const [example] = language?.examples ?? [];
  const { code = "", stdin = "" } = example ?? {};
  return { language: language?.name ?? "", code, stdin, profile: "judge" };
}

function continued({ row, code, stdin }: SubmissionDetail): Draft {
  const profile = row.profile === "agent" ? "agent" : "judge";
  return { language: row.language, code, stdin, profile, accountId: row.account.id, from: row.id };
}
