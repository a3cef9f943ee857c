import { Button } from "@mantine/core";
import css from "./load-more.module.css";

interface Props {
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
}

/** Button for the next page of a list. */
export function More({ query: { hasNextPage, isFetchingNextPage, fetchNextPage } }: Props) {
  if (!hasNextPage) return null;
  return (
    <div className={css.more}>
      <Button variant="default" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
        Show older
      </Button>
    </div>
  );
}
