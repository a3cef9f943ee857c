import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { LiveEvent, SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { API, queries } from "../client/api.ts";
import { streamWhileVisible } from "../client/stream.ts";
import { LiveText, type LiveTextState } from "./live-text.ts";

/** Output that arrives within this time is shown together. */
const SHOW_MS = 100;

export interface LiveRun {
  readonly status: "pending" | "running" | null;
  readonly stdout: LiveTextState;
  readonly stderr: LiveTextState;
}

const EMPTY: LiveTextState = { text: "", firstLine: 1, isCut: false };
const NOTHING: LiveRun = { status: null, stdout: EMPTY, stderr: EMPTY };

/** The query of a submission, and its output and status while it is pending or running. */
export function useLiveRun(id: string) {
  const queryClient = useQueryClient();
  const [live, setLive] = useState(NOTHING);
  const [streaming, setStreaming] = useState(false);
  const cached = queryClient.getQueryData(queries.submission(id).queryKey);
  const hasEnded = cached !== undefined && !isOpen(cached);
  const query = useQuery({
    ...queries.submission(id),
    // An ended run does not change.
    meta: { topics: streaming || hasEnded ? [] : ["runs"] },
    staleTime: ({ state: { data } }) => (data && !isOpen(data) ? Number.POSITIVE_INFINITY : 0),
  });
  const open = query.data !== undefined && isOpen(query.data);
  useEffect(() => {
    if (!open) return;
    const written = { stdout: new LiveText(), stderr: new LiveText() };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const shown = () => {
      timer = undefined;
      setLive((now) => ({ ...now, stdout: written.stdout.snapshot(), stderr: written.stderr.snapshot() }));
    };
    const end = streamWhileVisible(() => {
      const source = new EventSource(`${API}/submissions/${encodeURIComponent(id)}/live`);
      const on = <E extends LiveEvent["event"]>(event: E, take: (data: DataOf<E>) => void) =>
        source.addEventListener(event, ({ data }: MessageEvent<string>) => take(JSON.parse(data)));
      source.onopen = () => setStreaming(true);
      // EventSource reconnects by itself, unless the service rejected the request.
      source.onerror = () => setStreaming(source.readyState !== EventSource.CLOSED);
      on("status", ({ status }) => setLive((now) => ({ ...now, status })));
      for (const stream of ["stdout", "stderr"] as const)
        on(stream, ({ at, text }) => {
          // After a reconnection, or when the run is repeated, the text begins again at offset 0 and replaces the earlier text.
          if (at === 0) written[stream].clear();
          written[stream].add(text);
          timer ??= setTimeout(shown, SHOW_MS);
        });
      on("ended", (detail) => {
        source.close();
        queryClient.setQueryData(queries.submission(id).queryKey, detail);
      });
      return source;
    });
    return () => {
      clearTimeout(timer);
      end();
      setStreaming(false);
      setLive(NOTHING);
    };
  }, [id, open, queryClient]);
  return { query, live };
}

type DataOf<E> =
  Extract<LiveEvent, { readonly event: E }> extends never
    ? Extract<LiveEvent, { readonly event: "stdout" | "stderr" }>["data"]
    : Extract<LiveEvent, { readonly event: E }>["data"];

export function isOpen({ row }: Pick<SubmissionDetail, "row">): boolean {
  return row.status === "pending" || row.status === "running";
}
