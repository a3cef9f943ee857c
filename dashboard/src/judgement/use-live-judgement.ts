import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { JudgementDetail, JudgementState } from "../../../src/http/dashboard/api/judgements.ts";
import { API, queries } from "../client/api.ts";
import { streamWhileVisible } from "../client/stream.ts";

/** The query of a judgement. Its data is updated until the judgement has ended. */
export function useLiveJudgement(id: string) {
  const queryClient = useQueryClient();
  const [streaming, setStreaming] = useState(false);
  const query = useQuery({
    ...queries.judgement(id),
    // An ended judgement does not change.
    staleTime: ({ state: { data } }) => (data && !isOpen(data) ? Number.POSITIVE_INFINITY : 0),
    meta: { topics: streaming ? [] : ["runs"] },
  });
  const open = query.data !== undefined && isOpen(query.data);
  useEffect(() => {
    if (!open) return;
    const take = ({ data }: MessageEvent<string>) => {
      const state: JudgementState = JSON.parse(data);
      queryClient.setQueryData<JudgementDetail>(
        queries.judgement(id).queryKey,
        (known) => known && { ...known, ...state },
      );
    };
    const end = streamWhileVisible(() => {
      const source = new EventSource(`${API}/judgements/${encodeURIComponent(id)}/live`);
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
  }, [id, open, queryClient]);
  return query;
}

export function isOpen({ row }: JudgementState): boolean {
  return row.status === "pending" || row.status === "running";
}
