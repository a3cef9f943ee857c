import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Total } from "../../../src/http/dashboard/api/lists.ts";
import { asking } from "../api.ts";
import { type Column, RowsWaiting } from "../pieces/data-table.tsx";
import { More } from "../pieces/more.tsx";
import { Empty, QueryBoundary } from "../pieces/query-boundary.tsx";
import { count, counted } from "../pieces/words.ts";
import { useShortcuts } from "../shell/shortcuts.ts";
import { ListTable, type ListTableHandle, type SortableColumn } from "./list-table.tsx";
import { type Listed, type Source, useNewest } from "./newest.ts";
import css from "./newest-list.module.css";
import { filtersIn, type Search } from "./search.ts";

export interface ListColumn<Row> extends Column<Row> {
  /** `order`: the service sorts. A number: the loaded rows are sorted by it. */
  readonly sortBy?: "order" | ((row: Row) => number | null);
}

interface Props<Row extends Listed> {
  readonly source: Source<Row>;
  readonly search: Search;
  /** A row, as a noun. */
  readonly what: string;
  readonly columns: readonly ListColumn<Row>[];
  /** Whether the user has filtered the rows. */
  readonly isFiltered?: boolean;
  /** Changes the order of the list, if it can be sorted. */
  readonly onOrder?: (order: "oldest" | undefined) => void;
  /** Opens a row next to the list. */
  readonly open?: (id: string) => void;
  readonly opened?: string | undefined;
  readonly handle?: RefObject<ListTableHandle | null>;
  /** Shown without any row. */
  readonly children: ReactNode;
}

/** The rows of a search in order of acceptance, with their number. */
export function NewestList<Row extends Listed>({
  source,
  search,
  what,
  columns,
  isFiltered = filtersIn(search).length > 0,
  onOrder,
  open,
  opened,
  handle,
  children,
}: Props<Row>) {
  const { list, unseen, isWhole, show } = useNewest(source, search);
  const place = useRef<HTMLDivElement>(null);
  const own = useRef<ListTableHandle>(null);
  const table = handle ?? own;
  const [by, setBy] = useState<{ readonly head: string; readonly up: boolean }>();
  const total = useQuery(asking.total(source.path, withoutOrder(search)));
  useEffect(() => {
    if (unseen > 0 && isUnused(place.current)) show();
  }, [unseen, show]);
  useShortcuts({ j: () => table.current?.step(1), k: () => table.current?.step(-1) });
  const loaded = useMemo(() => list.data?.pages.flatMap(({ rows }) => rows) ?? [], [list.data]);
  const sortOf = by && columns.find(({ head }) => head === by.head)?.sortBy;
  const rows = useMemo(
    () => (typeof sortOf === "function" ? sorted(loaded, sortOf, by?.up ?? false) : loaded),
    [loaded, sortOf, by?.up],
  );
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (!isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
  const nothing = () => {
    if (hasNextPage || isFiltered) {
      return (
        <Empty title={hasNextPage ? "No match yet" : "No match"}>
          {hasNextPage ? `Only the newest ${what}s were searched. ` : "Change the filters. "}
          <Link to={what === "judgement" ? "/judgements" : "/submissions"} search={{}}>
            Show all
          </Link>
        </Empty>
      );
    }
    return <Empty title={`No ${what}s yet`}>{children}</Empty>;
  };
  const sortable = columns.map(({ sortBy, ...column }): SortableColumn<Row> => {
    if (sortBy === "order") {
      if (!onOrder) return column;
      const isOldest = search.order === "oldest";
      return {
        ...column,
        sorted: sortOf ? undefined : isOldest ? "ascending" : "descending",
        sort: () => {
          if (sortOf) setBy(undefined);
          else onOrder(isOldest ? undefined : "oldest");
        },
        sortTitle: isOldest ? "Show the newest first" : "Show the oldest first",
      };
    }
    if (!sortBy || !onOrder) return column;
    const isBy = by?.head === column.head;
    return {
      ...column,
      sorted: isBy ? (by.up ? "ascending" : "descending") : undefined,
      sort: () => setBy({ head: column.head, up: isBy && !by.up }),
      sortTitle: "Sort the loaded rows",
    };
  });
  return (
    <div ref={place} className={css.place}>
      <p role="status" className={css.count}>
        {list.data && words(total.data, loaded.length, hasNextPage, what)}
        {typeof sortOf === "function" && hasNextPage && `. Only the ${count(loaded.length)} loaded ones are sorted.`}
      </p>
      <QueryBoundary query={list} waiting={<RowsWaiting rows={12} />}>
        {() =>
          rows.length === 0 ? (
            nothing()
          ) : (
            <ListTable
              caption={`${what[0]?.toUpperCase()}${what.slice(1)}s`}
              columns={sortable}
              rows={rows}
              hasMore={hasNextPage}
              // Rows that are sorted here would move.
              onEnd={typeof sortOf === "function" ? noop : onEnd}
              open={open}
              opened={opened}
              handle={table}
            >
              {unseen > 0 && (
                <Button className={css.unseen} size="compact-sm" onClick={show}>
                  {`Show ${unseen}${isWhole ? "" : " or more"} new`}
                </Button>
              )}
            </ListTable>
          )
        }
      </QueryBoundary>
      <More query={list} />
    </div>
  );
}

function noop(): void {}

function withoutOrder({ order: _, ...rest }: Search): Search {
  return rest;
}

/** "37 submissions"; "10,000+ submissions". */
function words(total: Total | undefined, loaded: number, hasMore: boolean, what: string): string {
  const least = Math.max(total?.matches ?? 0, loaded);
  const isWhole = !hasMore || total?.isWhole === true;
  return isWhole ? counted(hasMore ? least : loaded, what) : `${count(least)}+ ${what}s`;
}

function sorted<Row>(rows: readonly Row[], of: (row: Row) => number | null, up: boolean): Row[] {
  const none = up ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return rows.toSorted((a, b) => {
    const [left, right] = [of(a) ?? none, of(b) ?? none];
    return left === right ? 0 : up === left < right ? -1 : 1;
  });
}

/** Whether the page is at its top, without pointer or focus in the list, so that new rows disturb no reader. */
function isUnused(place: HTMLElement | null): boolean {
  return window.scrollY < 8 && !place?.matches(":hover, :focus-within");
}
