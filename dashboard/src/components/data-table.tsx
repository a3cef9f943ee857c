import { Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import css from "./data-table.module.css";

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ReactNode;
  /** Whether the cells are numbers, which are right-aligned. */
  readonly number?: true;
  /** Whether only screen readers get the heading. */
  readonly headUnseen?: true;
  /** Whether this column is the heading of a card; by default, the first column is. */
  readonly main?: true;
}

interface Props<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly faded?: (row: T) => boolean;
}

/** The greatest number of columns that fit on a tablet. */
const FEW = 6;

/** A table. On narrow screens, each row is a card. Roles are explicit, because the CSS of cards removes the implicit ones. */
export function DataTable<T>({ caption, columns, rows, rowKey: of, faded }: Props<T>) {
  const main = columns.find((column) => column.main) ?? columns[0];
  return (
    <div className={css.frame}>
      {/* biome-ignore-start lint/a11y/noRedundantRoles: without roles, a table that is laid out as blocks is no table for screen readers */}
      <table className={`${css.table} ${columns.length > FEW ? css.wide : ""}`} role="table" aria-label={caption}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, number, headUnseen }) => (
              <th key={head} role="columnheader" scope="col" data-number={number}>
                <span className={headUnseen && css.visuallyHidden}>{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={of(row)} role="row" data-faded={faded?.(row) || undefined}>
              {columns.map((column) => {
                const { head, cell, number, headUnseen } = column;
                return (
                  <td
                    key={head}
                    role="cell"
                    data-number={number}
                    data-head={headUnseen ? undefined : head}
                    data-main={column === main || undefined}
                  >
                    {cell(row)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: as above */}
    </div>
  );
}

/** Placeholder of a loading table. */
export function TableSkeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div className={css.frame}>
      <div className={css.skeleton}>
        {Array.from({ length: rows + 1 }, (_, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: all rows of the placeholder are alike
          <Skeleton key={i} height={14} my={13} width={i === 0 ? "40%" : "100%"} />
        ))}
      </div>
    </div>
  );
}
