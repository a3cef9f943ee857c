import { Button } from "@mantine/core";
import css from "./load-more.module.css";

interface Props {
  readonly of: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
  /** Number of listed options. */
  readonly shown: number;
  /** Plural name of the options. */
  readonly what: string;
}

/** Below a select with more options than listed: adds the next page. */
export function Older({ of: { hasNextPage, isFetchingNextPage, fetchNextPage }, shown, what }: Props) {
  if (!hasNextPage) return null;
  return (
    <div className={css.older}>
      <span>
        Only the newest {shown} {what} are listed.
      </span>
      <Button variant="default" size="compact-sm" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
        List older {what}
      </Button>
    </div>
  );
}
