import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef } from "react";
import type { Total } from "../../../src/http/dashboard/api/lists.ts";
import { queries } from "../client/api.ts";
import { filtersIn, type Search } from "../client/search.ts";
import { type Column, TableSkeleton } from "../components/data-table.tsx";
import { count, counted } from "../components/format.ts";
import { LoadMore } from "../components/load-more.tsx";
import { EmptyState, QueryBoundary } from "../components/query-boundary.tsx";
import { useShortcuts } from "../components/shortcuts.ts";
import { ListTable, type ListTableHandle, type SortableColumn } from "./list-table.tsx";
import css from "./live-list.module.css";
import { type ListRow, type ListSource, useLiveList } from "./use-live-list.ts";

export interface ListColumn<Row> extends Column<Row> {
  /**
   * Whether the column shows when the service received the submission or the judgement. Lists can be sorted only by this time.
   */
  readonly isOrder?: boolean;
}

interface Props<Row extends ListRow> {
  readonly source: ListSource<Row>;
  readonly search: Search;
  /** The noun for a row, such as "submission". */
  readonly what: string;
  readonly columns: readonly ListColumn<Row>[];
  /** Whether the person has filtered the rows. */
  readonly isFiltered?: boolean;
  /** Changes the order of the list, if it can be sorted. */
  readonly onOrder?: (order: "oldest" | undefined) => void;
  /** As in ListTable. */
  readonly open?: (id: string) => void;
  readonly opened?: string | undefined;
  readonly handle?: RefObject<ListTableHandle | null>;
  /** Shown if the list has no rows and is not filtered. */
  readonly children: ReactNode;
}

/** The rows that match a search, sorted by the time at which the service received them, and the number of matches. */
export function LiveList<Row extends ListRow>({
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
  const { list, unseen, isWhole, show } = useLiveList(source, search);
  const container = useRef<HTMLDivElement>(null);
  const ownTable = useRef<ListTableHandle>(null);
  const table = handle ?? ownTable;
  const total = useQuery(queries.total(source.path, withoutOrder(search)));
  useEffect(() => {
    if (unseen > 0 && isUnused(container.current)) show();
  }, [unseen, show]);
  useShortcuts({ j: () => table.current?.step(1), k: () => table.current?.step(-1) });
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.rows) ?? [], [list.data]);
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (!isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
  const nothing = () => {
    if (hasNextPage || isFiltered) {
      return (
        <EmptyState title={hasNextPage ? "No match yet" : "No match"}>
          {hasNextPage ? `Not all ${what}s were searched yet. ` : "Change the filters. "}
          <Link to={what === "judgement" ? "/judgements" : "/submissions"} search={{}}>
            Show all
          </Link>
        </EmptyState>
      );
    }
    return <EmptyState title={`No ${what}s yet`}>{children}</EmptyState>;
  };
  const isOldest = search.order === "oldest";
  const sortable = columns.map(({ isOrder, ...column }): SortableColumn<Row> => {
    if (!isOrder || !onOrder) return column;
    return {
      ...column,
      sorted: isOldest ? "ascending" : "descending",
      sort: () => onOrder(isOldest ? undefined : "oldest"),
      sortTitle: isOldest ? "Show the newest first" : "Show the oldest first",
    };
  });
  return (
    <div ref={container} className={css.container}>
      <p role="status" className={css.count}>
        {list.data &&
          `${countText(total.data, rows.length, hasNextPage, what)}, ${isOldest ? "oldest" : "newest"} first`}
      </p>
      <QueryBoundary query={list} placeholder={<TableSkeleton rows={12} />}>
        {() =>
          rows.length === 0 ? (
            nothing()
          ) : (
            <ListTable
              caption={`${what[0]?.toUpperCase()}${what.slice(1)}s`}
              columns={sortable}
              rows={rows}
              hasMore={hasNextPage}
              onEnd={onEnd}
              open={open}
              opened={opened}
              handle={table}
            >
              {unseen > 0 && (
                <Button className={css.newRows} size="compact-sm" onClick={show}>
                  {`Show ${unseen}${isWhole ? "" : " or more"} new`}
                </Button>
              )}
            </ListTable>
          )
        }
      </QueryBoundary>
      <LoadMore query={list} />
    </div>
  );
}

function withoutOrder({ order: _, ...rest }: Search): Search {
  return rest;
}

/** The number of matches, such as "37 submissions", or "10,000+ submissions" if not all were counted. */
function countText(total: Total | undefined, loaded: number, hasMore: boolean, what: string): string {
  const atLeast = Math.max(total?.matches ?? 0, loaded);
  const isWhole = !hasMore || total?.isWhole === true;
  return isWhole ? counted(hasMore ? atLeast : loaded, what) : `${count(atLeast)}+ ${what}s`;
}

/** Whether new rows disturb nobody: the page is scrolled to its top, and neither the pointer nor the focus is in the list. */
function isUnused(container: HTMLElement | null): boolean {
  return window.scrollY < 8 && !container?.matches(":hover, :focus-within");
}
