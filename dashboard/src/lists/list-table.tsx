import { useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import table from "../components/data-table.module.css";
import type { Column } from "../components/data-table.tsx";
import css from "./live-list.module.css";
import { RowsContext } from "./row-link.tsx";

/** Height of the top bar of the dashboard. Rows behind the bar are not visible. */
const TOP = 60;
const ROW_PX = 40;
/** Number of rows that are drawn above and below the visible ones. */
const SPARE = 15;

export interface SortableColumn<Row> extends Column<Row> {
  /** The direction in which the list is sorted by this column; undefined if it is not. `sort` reverses the direction. */
  readonly sorted?: "ascending" | "descending" | undefined;
  readonly sort?: (() => void) | undefined;
  readonly sortTitle?: string;
}

export interface ListTableHandle {
  /** Moves the focus to the next or the previous row. If a row is open next to the list, opens that row instead of it. */
  readonly step: (by: 1 | -1) => void;
}

interface Props<Row> {
  readonly caption: string;
  readonly columns: readonly SortableColumn<Row>[];
  readonly rows: readonly Row[];
  /** Whether there are more rows than `rows`. */
  readonly hasMore: boolean;
  /** Called when the last rows become visible and `hasMore` is true. */
  readonly onEnd: () => void;
  /** Opens a row next to the list; undefined if rows are opened on pages of their own. */
  readonly open?: ((id: string) => void) | undefined;
  /** The id of the row that is open next to the list. */
  readonly opened?: string | undefined;
  readonly handle: React.RefObject<ListTableHandle | null>;
  readonly children?: ReactNode;
}

/** A table that scrolls with the page. Only rows in or near the window are elements, so that 50,000 rows are as fast as 50. */
export function ListTable<Row extends { readonly id: string }>({
  caption,
  columns,
  rows,
  hasMore,
  onEnd,
  open,
  opened,
  handle,
  children,
}: Props<Row>) {
  const container = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const [current, setCurrent] = useState<string>();
  /** The id of the row that gets the focus once it is drawn. A key that is pressed before moves the focus on from this row. */
  const focusTarget = useRef<string>(undefined);
  useLayoutEffect(() => {
    const top = (container.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
  });
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: SPARE,
    scrollMargin: margin,
    scrollPaddingStart: TOP,
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - SPARE) onEnd();
  }, [hasMore, last, rows.length, onEnd]);

  const focusOn = (index: number) => {
    const id = rows[index]?.id;
    if (id === undefined) return;
    setCurrent(id);
    focusTarget.current = id;
    virtual.scrollToIndex(index, { align: "auto" });
    let frames = 0;
    const focus = () => {
      if (focusTarget.current !== id) return;
      const link = container.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
      if (!link && frames++ < 20) return requestAnimationFrame(focus);
      focusTarget.current = undefined;
      link?.focus({ preventScroll: true });
    };
    requestAnimationFrame(focus);
  };
  const step = (by: 1 | -1) => {
    const { activeElement } = document;
    const focused = activeElement instanceof HTMLElement ? activeElement.dataset.row : undefined;
    const from = focusTarget.current ?? focused ?? opened;
    const index = rows.findIndex(({ id }) => id === from);
    const to = index < 0 ? firstVisible(virtual.scrollOffset ?? 0, items) : index + by;
    if (open && opened !== undefined && rows[to]) open(rows[to].id);
    focusOn(to);
  };
  useImperativeHandle(handle, () => ({ step }));
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = ({ ArrowDown: 1, ArrowUp: -1 } as const)[event.key];
    if (by === undefined || !(event.target instanceof HTMLElement) || event.target.dataset.row === undefined) return;
    event.preventDefault();
    step(by);
  };

  const reachable =
    items.find(({ index }) => rows[index]?.id === current) ?? items[firstVisible(virtual.scrollOffset ?? 0, items)];
  const before = (items[0]?.start ?? margin) - margin;
  const after = virtual.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin);
  return (
    <RowsContext value={{ current: reachable && rows[reachable.index]?.id, open }}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the links inside, which Tab also reaches */}
      <div ref={container} className={`${table.frame} ${css.list}`} onKeyDown={onKeyDown}>
        {children}
        {/* biome-ignore-start lint/a11y/noRedundantRoles: without roles, a table that is laid out as blocks is no table for screen readers */}
        <table className={table.table} role="table" aria-label={caption} aria-rowcount={hasMore ? -1 : rows.length + 1}>
          <thead role="rowgroup">
            <tr role="row" aria-rowindex={1}>
              {columns.map(({ head, number, sorted, sort, sortTitle }) => (
                <th key={head} role="columnheader" scope="col" data-number={number} data-head={head} aria-sort={sorted}>
                  {sort ? (
                    <button type="button" className={css.sort} title={sortTitle} onClick={sort}>
                      {head}
                      <span aria-hidden="true">{sorted ? (sorted === "ascending" ? "↑" : "↓") : "↕"}</span>
                    </button>
                  ) : (
                    head
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            <Space height={before} columns={columns.length} />
            {items.map(({ index }) => {
              const row = rows[index];
              if (!row) return null;
              return (
                <tr
                  key={row.id}
                  role="row"
                  ref={virtual.measureElement}
                  data-index={index}
                  aria-rowindex={index + 2}
                  data-opened={row.id === opened || undefined}
                >
                  {columns.map(({ head, cell, number }) => (
                    <td key={head} role="cell" data-number={number} data-head={head}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              );
            })}
            <Space height={after} columns={columns.length} />
          </tbody>
        </table>
        {/* biome-ignore-end lint/a11y/noRedundantRoles: as above */}
      </div>
    </RowsContext>
  );
}

/** Takes the space of the rows that are not drawn. */
function Space({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus
    <tr aria-hidden="true" className={css.spacer}>
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function firstVisible(offset: number, items: readonly { readonly start: number; readonly index: number }[]): number {
  return items.find(({ start }) => start >= offset + TOP)?.index ?? items[0]?.index ?? 0;
}
