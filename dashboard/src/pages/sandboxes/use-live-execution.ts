import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { ExecutionDetail, ExecutionLiveEvent } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { API, queries } from "../../client/api.ts";
import { streamWhileVisible } from "../../client/stream.ts";
import { LiveText, type LiveTextState } from "../../run/live-text.ts";

/** Output that arrives within this time is shown together. */
const SHOW_MS = 100;
const EMPTY: LiveTextState = { text: "", firstLine: 1, isCut: false };
const NOTHING = { stdout: EMPTY, stderr: EMPTY };

/** The query of an execution, and its output while it runs. `isRefused`: its output cannot be followed here. */
export function useLiveExecution(id: string, number: number) {
  const queryClient = useQueryClient();
  const [live, setLive] = useState(NOTHING);
  const [isRefused, setRefused] = useState(false);
  const query = useQuery({
    ...queries.execution(id, number),
    // An execution that has ended does not change.
    staleTime: ({ state: { data } }) => (data?.run ? Number.POSITIVE_INFINITY : 0),
  });
  const runs = query.data !== undefined && query.data.run === null;
  useEffect(() => {
    if (!runs) return;
    const written = { stdout: new LiveText(), stderr: new LiveText() };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      setLive({ stdout: written.stdout.snapshot(), stderr: written.stderr.snapshot() });
    };
    const end = streamWhileVisible(() => {
      const source = new EventSource(`${API}/sandboxes/${encodeURIComponent(id)}/executions/${number}/live`);
      // Each stream begins with the output so far.
      source.onopen = () => {
        setRefused(false);
        written.stdout.clear();
        written.stderr.clear();
      };
      // EventSource reconnects by itself, unless the service rejected the request.
      source.onerror = () => setRefused(source.readyState === EventSource.CLOSED);
      for (const stream of ["stdout", "stderr"] as const)
        source.addEventListener(stream, ({ data }: MessageEvent<string>) => {
          const { text } = JSON.parse(data) as Extract<ExecutionLiveEvent, { event: "stdout" | "stderr" }>["data"];
          written[stream].add(text);
          timer ??= setTimeout(show, SHOW_MS);
        });
      source.addEventListener("ended", ({ data }: MessageEvent<string>) => {
        source.close();
        queryClient.setQueryData(queries.execution(id, number).queryKey, JSON.parse(data) as ExecutionDetail);
      });
      return source;
    });
    return () => {
      clearTimeout(timer);
      end();
      setLive(NOTHING);
    };
  }, [id, number, runs, queryClient]);
  return { query, live, isRefused };
}
