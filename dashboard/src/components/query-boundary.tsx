import { Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isNotThere, isUnreachable } from "../client/api.ts";
import { Icon } from "./icon.tsx";
import css from "./query-boundary.module.css";

interface Props<T> {
  readonly query: UseQueryResult<T>;
  /** Placeholder of the final size, so that the layout does not move. */
  readonly waiting: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** The result of a query; its placeholder while it loads, or its error. */
export function QueryBoundary<T>({ query: { data, error, isFetching, refetch }, waiting, children }: Props<T>) {
  if (data !== undefined) {
    return (
      <>
        {error && !isUnreachable(error) && (
          <Trouble text={`Not updated: ${error.message}.`} again={refetch} busy={isFetching} />
        )}
        {children(data)}
      </>
    );
  }
  if (error) {
    // An object that does not exist is not there after another try either.
    const again = isNotThere(error) ? {} : { again: refetch };
    return <Trouble text={`Not loaded: ${error.message}.`} {...again} busy={isFetching} />;
  }
  return (
    <div aria-busy="true">
      <span className={css.unseen}>Loading</span>
      {waiting}
    </div>
  );
}

export function Trouble({ text, again, busy }: { text: string; again?: () => void; busy?: boolean }) {
  return (
    <div className={css.trouble} role="alert">
      <Icon name="alert" />
      <span>{text}</span>
      {again && (
        <Button variant="default" size="compact-sm" onClick={() => again()} loading={busy ?? false}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** An empty list, with the reason and the next step. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <p className={css.what}>{title}</p>
      {children}
    </div>
  );
}
