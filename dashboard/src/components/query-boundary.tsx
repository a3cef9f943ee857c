import { Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isNotFound, isUnreachable } from "../client/api.ts";
import { Icon } from "./icon.tsx";
import css from "./query-boundary.module.css";

interface Props<T> {
  readonly query: UseQueryResult<T>;
  /** Shown while the query loads. It has about the size of the result, so that the layout does not move. */
  readonly placeholder: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** Shows the result of a query, a placeholder while the query loads, or its error. */
export function QueryBoundary<T>({ query: { data, error, isFetching, refetch }, placeholder, children }: Props<T>) {
  if (data !== undefined) {
    return (
      <>
        {error && !isUnreachable(error) && (
          <ErrorMessage text={`Not updated: ${error.message}.`} again={refetch} busy={isFetching} />
        )}
        {children(data)}
      </>
    );
  }
  if (error) {
    // Another attempt would not find an object that does not exist.
    const again = isNotFound(error) ? {} : { again: refetch };
    return <ErrorMessage text={`Not loaded: ${error.message}.`} {...again} busy={isFetching} />;
  }
  return (
    <div aria-busy="true">
      <span className={css.visuallyHidden}>Loading</span>
      {placeholder}
    </div>
  );
}

export function ErrorMessage({ text, again, busy }: { text: string; again?: () => void; busy?: boolean }) {
  return (
    <div className={css.error} role="alert">
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

/** Shown instead of an empty list: why it is empty, and what to do next. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <p className={css.title}>{title}</p>
      {children}
    </div>
  );
}
