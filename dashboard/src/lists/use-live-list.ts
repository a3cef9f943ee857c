import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ListChange } from "../../../src/http/dashboard/api/lists.ts";
import { addressOf } from "../client/api.ts";
import type { Search } from "../client/search.ts";
import { followStream } from "../client/stream.ts";
import { type ListRow, merged, NONE, type Unseen } from "./unseen-rows.ts";

export type { ListRow } from "./unseen-rows.ts";

/**
 * Rows that have not ended, and that the stream does not follow, are requested one by one. These are the shortest time between two
 * rounds of such requests, and the greatest number of rows in a round.
 */
const SINGLES_MS = 3_000;
const MAX_SINGLES = 5;

/** A page of a list. `mark` is the state from which the stream of changes continues. */
export interface Rows<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
  readonly mark?: string;
}

type List<Row> = InfiniteData<Rows<Row>, unknown>;

/** Where the rows of a list come from. */
export interface ListSource<Row extends ListRow> {
  readonly path: "/submissions" | "/judgements";
  /** Number of rows of the first page, which the stream follows. */
  readonly limit: number;
  readonly load: (search: Search, before?: string) => Promise<Rows<Row>>;
}

/**
 * A list whose rows do not move. Changes of rows are shown at once. New rows are only counted until the person shows them, because
 * inserting them would move a row that the person is about to click. The service sends changes and new rows in a stream.
 */
export function useLiveList<Row extends ListRow>(source: ListSource<Row>, search: Search) {
  const { path, limit, load } = source;
  const queryClient = useQueryClient();
  const key = useMemo(() => [path, limit, search] as const, [path, limit, search]);
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => load(search, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    meta: { isFollowed: true },
  });
  const [unseen, setUnseen] = useState<Unseen<Row>>(NONE);
  const isLoaded = list.data !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    const shown = () => queryClient.getQueryData<List<Row>>(key);
    const change = (update: (list: List<Row>) => List<Row>) =>
      queryClient.setQueryData<List<Row>>(key, (before) => before && update(before));
    /** Ids of the rows that the stream follows. */
    const followed = new Set(shown()?.pages[0]?.rows.map(({ id }) => id));
    const take = ({ rows, next, gap }: ListChange<Row>, isFirst: boolean) => {
      const knownIds = idsIn(shown());
      const fresh = rows.filter(({ id }) => !knownIds.has(id));
      for (const { id } of rows) followed.add(id);
      change((before) => withChanges(before, rows));
      if (search.order === "oldest") return change((before) => withMore(before, fresh));
      const leavesAGap = gap || (isFirst && knownIds.size > 0 && next !== null && fresh.length === rows.length);
      setUnseen((before) => merged(before, { rows: fresh, next, gap: leavesAGap, isCut: false }));
    };
    let singlesAt = 0;
    const loadSingles = async () => {
      if (performance.now() - singlesAt < SINGLES_MS) return;
      singlesAt = performance.now();
      const open = openRows(shown()).filter(({ id }) => !followed.has(id));
      const found = await Promise.all(open.slice(0, MAX_SINGLES).map(({ id }) => load({ id })));
      const rows = found.flatMap((one) => one.rows);
      if (rows.length > 0) change((before) => withChanges(before, rows));
    };
    const end = followStream({
      url: () => addressOf(`${path}/live`, { ...search, limit, mark: shown()?.pages[0]?.mark }),
      onEvent: (event, data, isFirst) => {
        if (event === "state") take(JSON.parse(data), isFirst);
        loadSingles().catch(() => {});
      },
      onRejected: () => {
        load(search).then(
          ({ rows, next }) => take({ rows, next, gap: false }, true),
          () => {},
        );
      },
    });
    return () => {
      end();
      setUnseen(NONE);
    };
  }, [isLoaded, queryClient, key, path, limit, search, load]);
  const show = useCallback(() => {
    if (unseen.isCut) {
      load(search).then(
        (page) => {
          queryClient.setQueryData<List<Row>>(key, { pages: [page], pageParams: [undefined] });
          setUnseen(NONE);
        },
        () => {}, // the rows stay unseen, and the person can try again
      );
      return;
    }
    queryClient.setQueryData<List<Row>>(key, (before) => before && withNew(before, unseen));
    setUnseen(NONE);
  }, [queryClient, key, unseen, load, search]);
  return { list, unseen: unseen.rows.length, isWhole: !unseen.gap, show };
}

function idsIn(list: List<ListRow> | undefined): Set<string> {
  return new Set(list?.pages.flatMap(({ rows }) => rows.map(({ id }) => id)));
}

function openRows<Row extends ListRow>(list: List<Row> | undefined): Row[] {
  return list?.pages.flatMap(({ rows }) => rows.filter(({ completedAt }) => completedAt === null)) ?? [];
}

/** Replaces changed rows. Pages without a change stay the same objects. */
function withChanges<Row extends ListRow>(list: List<Row>, rows: readonly Row[]): List<Row> {
  const changed = new Map(rows.map((row) => [row.id, row]));
  const isChanged = (page: Rows<Row>) => page.rows.some(({ id }) => changed.has(id));
  if (!list.pages.some(isChanged)) return list;
  const pages = list.pages.map((page) =>
    isChanged(page) ? { ...page, rows: page.rows.map((row) => changed.get(row.id) ?? row) } : page,
  );
  return { ...list, pages };
}

/** For a list that is sorted oldest first: adds new rows at the end, if the last page is loaded. */
function withMore<Row extends ListRow>(list: List<Row>, fresh: readonly Row[]): List<Row> {
  const last = list.pages.at(-1);
  if (!last || last.next !== null || fresh.length === 0) return list;
  return { ...list, pages: [...list.pages.slice(0, -1), { ...last, rows: [...last.rows, ...fresh] }] };
}

function withNew<Row extends ListRow>(list: List<Row>, { rows, next, gap }: Unseen<Row>): List<Row> {
  const [top, ...rest] = list.pages;
  if (!top || gap) return { pages: [{ rows, next }], pageParams: [undefined] };
  const { mark: _, ...without } = top;
  return { ...list, pages: [{ ...without, rows: [...rows, ...top.rows] }, ...rest] };
}
