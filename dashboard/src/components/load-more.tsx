import { Button } from "@mantine/core";
import css from "./load-more.module.css";

/** A paginated query of TanStack Query. */
interface Paginated {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

/** The button below a list that adds its next page. */
export function LoadMore({ query: { hasNextPage, isFetchingNextPage, fetchNextPage } }: { readonly query: Paginated }) {
  if (!hasNextPage) return null;
  return (
    <div className={css.loadMore}>
      <Button variant="default" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}

interface OptionsProps {
  readonly query: Paginated;
  /** Number of listed options. */
  readonly shown: number;
  /** Plural name of the options. */
  readonly what: string;
}

/** The button below a select with more options than listed: it adds the next page of options. */
export function LoadMoreOptions({
  query: { hasNextPage, isFetchingNextPage, fetchNextPage },
  shown,
  what,
}: OptionsProps) {
  if (!hasNextPage) return null;
  return (
    <div className={css.loadMoreOptions}>
      <span>
        Only the newest {shown} {what} are listed.
      </span>
      <Button variant="default" size="compact-sm" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
        List older {what}
      </Button>
    </div>
  );
}
