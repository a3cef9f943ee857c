import { part } from "../../client/api.ts";
import { useParts } from "../../client/use-paginated-query.ts";
import { RowsWaiting } from "../../components/data-table.tsx";
import css from "../../components/delivery.module.css";
import { OneDelivery } from "../../components/delivery.tsx";
import { More } from "../../components/load-more.tsx";
import { Empty, QueryBoundary } from "../../components/query-boundary.tsx";

export function DeliveryLog({ endpoint }: { endpoint: string }) {
  const parts = useParts(["/deliveries", endpoint], (before) => part.deliveries(endpoint, before), ["deliveries"]);
  return (
    <QueryBoundary query={parts} waiting={<RowsWaiting rows={6} />}>
      {(pages) => {
        const deliveries = pages.flatMap((page) => page.deliveries);
        if (deliveries.length === 0) {
          return (
            <Empty title="No deliveries yet">
              Send a test, or run a program with a key of the project (<a href="/docs/webhooks">documentation</a>).
            </Empty>
          );
        }
        return (
          <>
            <ol className={css.log}>
              {deliveries.map((delivery) => (
                <OneDelivery key={delivery.id} of={delivery} />
              ))}
            </ol>
            <More query={parts} />
          </>
        );
      }}
    </QueryBoundary>
  );
}
