import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import css from "../../components/delivery.module.css";
import { DeliveryEntry } from "../../components/delivery.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";

export function DeliveryLog({ endpoint }: { endpoint: string }) {
  const list = usePaginatedQuery(["/deliveries", endpoint], (before) => fetchPage.deliveries(endpoint, before), [
    "deliveries",
  ]);
  return (
    <QueryBoundary query={list} placeholder={<TableSkeleton rows={6} />}>
      {(pages) => {
        const deliveries = pages.flatMap((page) => page.deliveries);
        if (deliveries.length === 0) {
          return (
            <EmptyState title="No deliveries yet">
              Send a test, or run a program with a key of the project (<a href="/docs/webhooks">documentation</a>).
            </EmptyState>
          );
        }
        return (
          <>
            <ol className={css.log}>
              {deliveries.map((delivery) => (
                <DeliveryEntry key={delivery.id} of={delivery} />
              ))}
            </ol>
            <LoadMore query={list} />
          </>
        );
      }}
    </QueryBoundary>
  );
}
