import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import type { Search } from "./search.ts";

const REFRESH_MS = 3_000;
/** Maximum number of unfinished rows below the newest page that each refresh requests one by one. */
const MAX_SINGLE_REQUESTS = 5;

interface Listed {
  readonly id: string;
  readonly completedAt: string | null;
}

/** A page of a list. */
interface Rows<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

type List<Row> = InfiniteData<Rows<Row>, unknown>;

/** A list that grows at its top. */
export interface Source<Row extends Listed> {
  /** Of its queries. */
  readonly name: string;
  readonly ask: (search: Search, before?: string) => Promise<Rows<Row>>;
}

/**
 * A list whose rows do not move. Changes of rows are shown at once; new rows are only counted until the user shows them,
 * because inserting them would move the row that is about to be clicked.
 */
export function useNewest<Row extends Listed>({ name, ask }: Source<Row>, search: Search) {
  const queries = useQueryClient();
  const key = useMemo(() => [name, search] as const, [name, search]);
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => ask(search, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const newest = useQuery({
    queryKey: [`${name}/newest`, search],
    queryFn: async () => {
      const first = await ask(search);
      const alone = await Promise.all(
        openBelow(queries.getQueryData<List<Row>>(key), first).map(({ id }) => ask({ id })),
      );
      return { first, rows: [first, ...alone].flatMap(({ rows }) => rows) };
    },
    enabled: list.data !== undefined,
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });
  const looked = newest.data;
  useEffect(() => {
    if (looked) queries.setQueryData<List<Row>>(key, (shown) => shown && withChanges(shown, looked.rows));
  }, [queries, key, looked]);
  const unseen = useMemo(() => (looked && list.data ? newIn(list.data, looked.first) : []), [looked, list.data]);
  const show = useCallback(() => {
    if (looked) queries.setQueryData<List<Row>>(key, (shown) => shown && withNew(shown, looked.first));
  }, [queries, key, looked]);
  return { list, unseen: unseen.length, isWhole: !looked || !leavesAGap(unseen, looked.first), show };
}

function idsIn(list: List<Listed>): Set<string> {
  return new Set(list.pages.flatMap(({ rows }) => rows.map(({ id }) => id)));
}

function newIn<Row extends Listed>(list: List<Row>, first: Rows<Row>): Row[] {
  const shown = idsIn(list);
  return first.rows.filter(({ id }) => !shown.has(id));
}

function openBelow<Row extends Listed>(list: List<Row> | undefined, first: Rows<Row>): Row[] {
  const looked = new Set(first.rows.map(({ id }) => id));
  const rows = list?.pages.flatMap((page) => page.rows) ?? [];
  return rows.filter(({ id, completedAt }) => completedAt === null && !looked.has(id)).slice(0, MAX_SINGLE_REQUESTS);
}

function withChanges<Row extends Listed>(list: List<Row>, rows: readonly Row[]): List<Row> {
  const changed = new Map(rows.map((row) => [row.id, row]));
  const pages = list.pages.map((page) => ({ ...page, rows: page.rows.map((row) => changed.get(row.id) ?? row) }));
  return { ...list, pages };
}

/** Whether rows may be missing between the newest page and the list: all of the page is new, and there are more. */
function leavesAGap(news: readonly Listed[], first: Rows<Listed>): boolean {
  return news.length === first.rows.length && first.next !== null;
}

function withNew<Row extends Listed>(list: List<Row>, first: Rows<Row>): List<Row> {
  const news = newIn(list, first);
  const [top, ...rest] = list.pages;
  if (!top || leavesAGap(news, first)) return { pages: [first], pageParams: [undefined] };
  return { ...list, pages: [{ ...top, rows: [...news, ...top.rows] }, ...rest] };
}
