import { Link } from "@tanstack/react-router";
import { createContext, type MouseEvent, use } from "react";
import css from "./live-list.module.css";

interface Rows {
  /** The id of the only row of the list that Tab reaches. */
  readonly current: string | undefined;
  /** Opens a row next to the list; undefined if rows are opened on pages of their own. */
  readonly open?: ((id: string) => void) | undefined;
}

export const RowsContext = createContext<Rows>({ current: undefined });

/** The link of a row. The CSS makes it as large as the row. */
export function RowLink({ to, id }: { to: "/submissions/$id" | "/judgements/$id"; id: string }) {
  const { current, open } = use(RowsContext);
  const onClick = (event: MouseEvent) => {
    if (!open || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(id);
  };
  return (
    <Link
      to={to}
      params={{ id }}
      className={css.id}
      title={id}
      tabIndex={id === current ? 0 : -1}
      data-row={id}
      onClick={onClick}
    >
      {id.slice(0, 8)}
    </Link>
  );
}
