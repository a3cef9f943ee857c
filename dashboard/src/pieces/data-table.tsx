import { Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import css from "./rows.module.css";

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ReactNode;
  /** Numbers stand to the right, so that they can be compared. */
  readonly number?: true;
  /** Shown to screen readers alone: a column of buttons. */
  readonly headUnseen?: true;
}

interface Props<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly faded?: (row: T) => boolean;
}

/** A table; where there is no room for its columns each row is a card. Roles are said, because CSS takes them from such a table. */
export function DataTable<T>({ caption, columns, rows, rowKey: of, faded }: Props<T>) {
  return (
    <div className={css.frame}>
      {/* biome-ignore-start lint/a11y/noRedundantRoles: a table that is laid out as blocks is none any more, without them */}
      <table className={css.table} role="table" aria-label={caption}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, number, headUnseen }) => (
              <th key={head} role="columnheader" scope="col" data-number={number}>
                <span className={headUnseen && css.unseen}>{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={of(row)} role="row" data-faded={faded?.(row) || undefined}>
              {columns.map(({ head, cell, number, headUnseen }) => (
                <td key={head} role="cell" data-number={number} data-head={headUnseen ? undefined : head}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: as above */}
    </div>
  );
}

/** The outline of a table that is being loaded. */
export function RowsWaiting({ rows = 4 }: { rows?: number }) {
  return (
    <div className={css.frame}>
      <div className={css.waiting}>
        {Array.from({ length: rows + 1 }, (_, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
          <Skeleton key={i} height={14} my={13} width={i === 0 ? "40%" : "100%"} />
        ))}
      </div>
    </div>
  );
}
