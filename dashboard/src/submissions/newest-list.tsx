import { Button } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import { type Column, DataTable, RowsWaiting } from "../pieces/data-table.tsx";
import { More } from "../pieces/more.tsx";
import { Empty, QueryBoundary } from "../pieces/query-boundary.tsx";
import { counted } from "../pieces/words.ts";
import { type Source, useNewest } from "./newest.ts";
import css from "./newest-list.module.css";
import type { Search } from "./search.ts";

interface Props<Row extends { readonly id: string; readonly completedAt: string | null }> {
  readonly source: Source<Row>;
  readonly search: Search;
  /** A row, as a noun. */
  readonly what: string;
  readonly columns: readonly Column<Row>[];
  /** Whether the user has filtered the rows. */
  readonly isFiltered?: boolean;
  /** Shown without any row. */
  readonly children: ReactNode;
}

/** The rows of a search, newest first. */
export function NewestList<Row extends { readonly id: string; readonly completedAt: string | null }>({
  source,
  search,
  what,
  columns,
  isFiltered = Object.values(search).some(Boolean),
  children,
}: Props<Row>) {
  const { list, unseen, isWhole, show } = useNewest(source, search);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (unseen > 0 && isUnused(place.current)) show();
  }, [unseen, show]);
  const nothing = () => {
    if (list.hasNextPage) return <Empty title="No match yet">{`Only the newest ${what}s were searched.`}</Empty>;
    if (isFiltered) return <Empty title="No match">Change or clear the filters.</Empty>;
    return <Empty title={`No ${what}s yet`}>{children}</Empty>;
  };
  return (
    <>
      <div className={css.above}>
        <p role="status">
          {list.data && counted(list.data.pages.flatMap((page) => page.rows).length, what)}
          {list.hasNextPage && ", and older ones"}
        </p>
        {unseen > 0 && (
          <Button size="compact-sm" variant="light" onClick={show}>
            {`Show ${unseen}${isWhole ? "" : " or more"} new`}
          </Button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the links inside, which Tab also reaches */}
      <div ref={place} className={css.list} onKeyDown={betweenRows}>
        <QueryBoundary query={list} waiting={<RowsWaiting rows={12} />}>
          {({ pages }) => {
            const rows = pages.flatMap((page) => page.rows);
            if (rows.length === 0) return nothing();
            const caption = `${what[0]?.toUpperCase()}${what.slice(1)}s`;
            return <DataTable caption={caption} columns={columns} rows={rows} rowKey={({ id }) => id} />;
          }}
        </QueryBoundary>
        <More query={list} />
      </div>
    </>
  );
}

/** Whether the page is at its top, without pointer or focus in the list, so that new rows disturb no reader. */
function isUnused(place: HTMLElement | null): boolean {
  return window.scrollY < 8 && !place?.matches(":hover, :focus-within");
}

function betweenRows(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.target instanceof HTMLElement) || event.target.dataset.row === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("a[data-row]")];
  links[links.indexOf(event.target) + step]?.focus();
  event.preventDefault();
}
