import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Topic } from "../../../src/http/dashboard/api/changes.ts";
import { API, type ApiQuery } from "./api.ts";
import { streamWhileVisible } from "./stream.ts";

interface Live<T, S> {
  readonly query: ApiQuery<T>;
  /** The path of the stream below API. Its events `state` and `ended` have the state as JSON. */
  readonly path: string;
  /** Whether the state can still change. */
  readonly isOpen: (data: T) => boolean;
  /** The topics that make the query stale while there is no stream. */
  readonly topics: readonly Topic[];
  /** The data with a state that has arrived. */
  readonly merge: (known: T | undefined, state: S) => T | undefined;
}

/** A query whose data a stream keeps up to date until it no longer changes. */
export function useLiveState<T, S = T>({ query: asked, path, isOpen, topics, merge }: Live<T, S>) {
  const queryClient = useQueryClient();
  const [streaming, setStreaming] = useState(false);
  const query = useQuery({
    ...asked,
    staleTime: ({ state: { data } }) => (data !== undefined && !isOpen(data) ? Number.POSITIVE_INFINITY : 0),
    meta: { topics: streaming ? [] : topics },
  });
  const open = query.data !== undefined && isOpen(query.data);
  const take = useRef<(state: S) => void>(undefined);
  take.current = (state) => queryClient.setQueryData<T>(asked.queryKey, (known) => merge(known, state));
  useEffect(() => {
    if (!open) return;
    const end = streamWhileVisible(() => {
      const source = new EventSource(`${API}${path}`);
      const receive = ({ data }: MessageEvent<string>) => take.current?.(JSON.parse(data));
      source.onopen = () => setStreaming(true);
      // EventSource reconnects by itself, unless the service rejected the request.
      source.onerror = () => setStreaming(source.readyState !== EventSource.CLOSED);
      source.addEventListener("state", receive);
      source.addEventListener("ended", (event) => {
        source.close();
        receive(event);
      });
      return source;
    });
    return () => {
      end();
      setStreaming(false);
    };
  }, [path, open]);
  return query;
}
