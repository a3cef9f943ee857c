import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import type { SubmissionRow, Submissions } from "../../../src/http/dashboard/api/submissions.ts";
import { part } from "../api.ts";
import type { Search } from "./search.ts";

const REFRESH_MS = 3_000;
/** Maximum number of unfinished rows below the newest page that each refresh requests one by one. */
const MAX_SINGLE_REQUESTS = 5;

type List = InfiniteData<Submissions, unknown>;

/**
 * A list whose rows do not move. Changes of rows are shown at once; new rows are only counted until the user shows them,
 * because inserting them would move the row that is about to be clicked.
 */
export function useNewest(search: Search) {
  const queries = useQueryClient();
  const key = useMemo(() => ["/submissions", search] as const, [search]);
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => part.submissions(search, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const newest = useQuery({
    queryKey: ["/submissions/newest", search],
    queryFn: async () => {
      const first = await part.submissions(search);
      const alone = await Promise.all(
        openBelow(queries.getQueryData<List>(key), first).map(({ id }) => part.submissions({ id })),
      );
      return { first, rows: [first, ...alone].flatMap(({ submissions }) => submissions) };
    },
    enabled: list.data !== undefined,
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });
  const looked = newest.data;
  useEffect(() => {
    if (looked) queries.setQueryData<List>(key, (shown) => shown && withChanges(shown, looked.rows));
  }, [queries, key, looked]);
  const unseen = useMemo(() => (looked && list.data ? newIn(list.data, looked.first) : []), [looked, list.data]);
  const show = useCallback(() => {
    if (looked) queries.setQueryData<List>(key, (shown) => shown && withNew(shown, looked.first));
  }, [queries, key, looked]);
  return { list, unseen: unseen.length, isWhole: !looked || !leavesAGap(unseen, looked.first), show };
}

function idsIn(list: List): Set<string> {
  return new Set(list.pages.flatMap(({ submissions }) => submissions.map(({ id }) => id)));
}

function newIn(list: List, first: Submissions): SubmissionRow[] {
  const shown = idsIn(list);
  return first.submissions.filter(({ id }) => !shown.has(id));
}

function openBelow(list: List | undefined, first: Submissions): SubmissionRow[] {
  const looked = new Set(first.submissions.map(({ id }) => id));
  const rows = list?.pages.flatMap(({ submissions }) => submissions) ?? [];
  return rows.filter(({ id, completedAt }) => completedAt === null && !looked.has(id)).slice(0, MAX_SINGLE_REQUESTS);
}

function withChanges(list: List, rows: readonly SubmissionRow[]): List {
  const changed = new Map(rows.map((row) => [row.id, row]));
  const pages = list.pages.map((page) => ({
    ...page,
    submissions: page.submissions.map((row) => changed.get(row.id) ?? row),
  }));
  return { ...list, pages };
}

/** Whether rows may be missing between the newest page and the list: all of the page is new, and there are more. */
function leavesAGap(news: readonly SubmissionRow[], first: Submissions): boolean {
  return news.length === first.submissions.length && first.next !== null;
}

function withNew(list: List, first: Submissions): List {
  const news = newIn(list, first);
  const [top, ...rest] = list.pages;
  if (!top || leavesAGap(news, first)) return { pages: [first], pageParams: [undefined] };
  return { ...list, pages: [{ ...top, submissions: [...news, ...top.submissions] }, ...rest] };
}
