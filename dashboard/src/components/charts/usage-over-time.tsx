import { SegmentedControl, Skeleton } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { queries } from "../../client/api.ts";
import { Section } from "../page.tsx";
import { QueryBoundary } from "../query-boundary.tsx";

const UsageChart = lazy(() => import("./usage-chart.tsx").then((module) => ({ default: module.UsageChart })));

/** The key, the project, or the endpoint (with the id of its project) whose usage the chart shows. */
export type UsageOwner =
  | { readonly key: string }
  | { readonly project: string }
  | { readonly endpoint: string; readonly ofProject: string };

const WINDOWS = [
  { value: "24h", label: "24 h" },
  { value: "7d", label: "7 d" },
  { value: "30d", label: "30 d" },
];
const WAITING = <Skeleton height={290} />;

/** The chart of the ended runs of a key or a project, or of the ended deliveries of an endpoint. */
export function UsageOverTime({ of: owner }: { of: UsageOwner }) {
  const [window, setWindow] = useState("7d");
  const { listFilters, usageOf } =
    "endpoint" in owner
      ? { listFilters: { project: owner.ofProject }, usageOf: { endpoint: owner.endpoint } }
      : { listFilters: owner, usageOf: owner };
  const usage = useQuery({
    ...queries.usage({ ...usageOf, window }),
    placeholderData: keepPreviousData,
  });
  return (
    <Section
      title={"endpoint" in owner ? "Deliveries over time" : "Use"}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Range of the chart"
          value={window}
          data={WINDOWS}
          onChange={setWindow}
        />
      }
    >
      <QueryBoundary query={usage} placeholder={WAITING}>
        {(found) => (
          <div aria-busy={usage.isPlaceholderData}>
            <Suspense fallback={WAITING}>
              <UsageChart usage={found} runs={listFilters} isDeliveries={"endpoint" in owner} />
            </Suspense>
          </div>
        )}
      </QueryBoundary>
    </Section>
  );
}
