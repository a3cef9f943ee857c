import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { SandboxDetail, SandboxUse } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { API, queries } from "../../client/api.ts";
import { streamWhileVisible } from "../../client/stream.ts";

/** The most measurements that are kept. One is made every two seconds. */
const MAX_SAMPLES = 300;

/** The query of a sandbox, which is updated until its end, and what it has used since the page was opened. */
export function useLiveSandbox(id: string) {
  const queryClient = useQueryClient();
  const [samples, setSamples] = useState<readonly SandboxUse[]>([]);
  const [streaming, setStreaming] = useState(false);
  const query = useQuery({
    ...queries.sandbox(id),
    // A sandbox that has ended does not change.
    staleTime: ({ state: { data } }) => (data && data.row.state === "ended" ? Number.POSITIVE_INFINITY : 0),
    meta: { topics: streaming ? [] : ["sandboxes"] },
  });
  const lives = query.data !== undefined && query.data.row.state !== "ended";
  useEffect(() => {
    if (!lives) return;
    const take = ({ data }: MessageEvent<string>) => {
      const detail: SandboxDetail = JSON.parse(data);
      queryClient.setQueryData(queries.sandbox(id).queryKey, detail);
      const { use } = detail;
      if (use)
        setSamples((known) => (known.at(-1)?.atMs === use.atMs ? known : [...known.slice(1 - MAX_SAMPLES), use]));
    };
    const end = streamWhileVisible(() => {
      const source = new EventSource(`${API}/sandboxes/${encodeURIComponent(id)}/live`);
      source.onopen = () => setStreaming(true);
      // EventSource reconnects by itself, unless the service rejected the request.
      source.onerror = () => setStreaming(source.readyState !== EventSource.CLOSED);
      source.addEventListener("state", take);
      source.addEventListener("ended", (event) => {
        source.close();
        take(event);
      });
      return source;
    });
    return () => {
      end();
      setStreaming(false);
    };
  }, [id, lives, queryClient]);
  return { query, samples };
}
