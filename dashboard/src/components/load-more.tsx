import { Button } from "@mantine/core";
import css from "./load-more.module.css";

/** The used part of an infinite query of TanStack Query. */
interface Paginated {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

/** The button below a list. It adds the next page of the list. */
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
  /** Plural noun for the options, such as "projects". */
  readonly what: string;
}

/** The button below a select that does not list all options. It adds the next page of options. */
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
