import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { LiveEvent, SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { API, asking } from "../api.ts";

/** Polling interval without a live stream. */
const POLL_MS = 2_000;

interface Live {
  readonly status: "pending" | "running" | null;
  readonly stdout: string;
  readonly stderr: string;
}

const NOTHING: Live = { status: null, stdout: "", stderr: "" };

/** A submission with its live output. */
export function useWatched(id: string) {
  const queries = useQueryClient();
  const [live, setLive] = useState(NOTHING);
  const [streaming, setStreaming] = useState(false);
  const question = asking.submission(id);
  const query = useQuery({
    ...question,
    // After the end only deliveries change.
    refetchInterval: ({ state: { data } }) => (data && !isOpen(data) ? 10_000 : streaming ? false : POLL_MS),
  });
  const open = query.data !== undefined && isOpen(query.data);
  useEffect(() => {
    if (!open) return;
    const source = new EventSource(`${API}/submissions/${encodeURIComponent(id)}/live`);
    const on = <E extends LiveEvent["event"]>(event: E, take: (data: DataOf<E>) => void) =>
      source.addEventListener(event, ({ data }: MessageEvent<string>) => take(JSON.parse(data)));
    source.onopen = () => setStreaming(true);
    // EventSource reconnects by itself, unless the request was rejected.
    source.onerror = () => setStreaming(source.readyState !== EventSource.CLOSED);
    on("status", ({ status }) => setLive((now) => ({ ...now, status })));
    // Offset 0: a new stream or a repeated run; earlier text is replaced.
    on("stdout", ({ at, text }) => setLive((now) => ({ ...now, stdout: at === 0 ? text : now.stdout + text })));
    on("stderr", ({ at, text }) => setLive((now) => ({ ...now, stderr: at === 0 ? text : now.stderr + text })));
    on("ended", (detail) => {
      source.close();
      queries.setQueryData(asking.submission(id).queryKey, detail);
    });
    return () => {
      source.close();
      setStreaming(false);
      setLive(NOTHING);
    };
  }, [id, open, queries]);
  return { query, live };
}

type DataOf<E> =
  Extract<LiveEvent, { readonly event: E }> extends never
    ? Extract<LiveEvent, { readonly event: "stdout" | "stderr" }>["data"]
    : Extract<LiveEvent, { readonly event: E }>["data"];

function isOpen({ row }: SubmissionDetail): boolean {
  return row.status === "pending" || row.status === "running";
}
