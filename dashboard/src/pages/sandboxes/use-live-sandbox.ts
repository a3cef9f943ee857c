import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { UsageSample } from "../../../../src/domain/sandboxes/usage.ts";
import type { SandboxDetail, SandboxUse } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { queries } from "../../client/api.ts";
import { useLiveState } from "../../client/use-live-state.ts";

/** The most measurements of this page that are kept. One is made every two seconds. */
const MAX_SAMPLES = 300;

/** The query of a sandbox, which is updated until its end, and what it has used over its life. */
export function useLiveSandbox(id: string) {
  const [seen, setSeen] = useState<readonly SandboxUse[]>([]);
  const query = useLiveState<SandboxDetail>({
    query: queries.sandbox(id),
    path: `/sandboxes/${encodeURIComponent(id)}/live`,
    isOpen: ({ row }) => row.state !== "ended",
    topics: ["sandboxes"],
    merge: (_known, state) => {
      const { use } = state;
      if (use) setSeen((known) => (known.at(-1)?.atMs === use.atMs ? known : [...known.slice(1 - MAX_SAMPLES), use]));
      return state;
    },
  });
  const state = query.data?.row.state;
  const { data: past } = useQuery({
    ...queries.usageSamples(id),
    // While the page is open, its own measurements continue those of the service.
    staleTime: Number.POSITIVE_INFINITY,
    enabled: state !== undefined,
    refetchOnMount: "always",
  });
  const known = past?.samples ?? [];
  const lastMs = known.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
  const samples: readonly UsageSample[] = [...known, ...seen.filter(({ atMs }) => atMs > lastMs)];
  return { query, samples };
}
