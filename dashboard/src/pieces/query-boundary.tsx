import { Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import css from "./answered.module.css";
import { Icon } from "./icon.tsx";

interface Props<T> {
  readonly query: UseQueryResult<T>;
  /** As large as what will stand there, so that nothing moves. */
  readonly waiting: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** What was asked, when it has been answered; until then its outline, and a sentence where it could not be. */
export function QueryBoundary<T>({ query: { data, error, isFetching, refetch }, waiting, children }: Props<T>) {
  if (data !== undefined) {
    return (
      <>
        {error && <Trouble text={`This is as it was last seen: ${error.message}.`} again={refetch} busy={isFetching} />}
        {children(data)}
      </>
    );
  }
  if (error) return <Trouble text={`This could not be loaded: ${error.message}.`} again={refetch} busy={isFetching} />;
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

/** Nothing is there, and that is no mistake: says why, and what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <p className={css.what}>{title}</p>
      {children}
    </div>
  );
}
