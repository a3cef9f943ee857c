import { useEffect } from "react";
import { type Changes, TOPICS, type Topic } from "../../../src/http/dashboard/api/changes.ts";
import { addressOf } from "./api.ts";
import { queryClient } from "./query-client.ts";
import { followStream } from "./stream.ts";

/** The requests that were sent before the stream began are usually answered within this time. */
const SETTLE_MS = 1_000;

/** Repeats the queries of these topics: at once if a page shows their answers, otherwise when a page shows them again. */
function invalidate(topics: readonly string[]): void {
  void queryClient.invalidateQueries({
    predicate: ({ meta }) => meta?.topics?.some((one) => topics.includes(one)) === true,
  });
}

/** Repeats queries when the service reports that their data has changed, while the component is mounted. */
export function useChanges(): void {
  useEffect(() => {
    const all = Object.keys(TOPICS);
    let timer: ReturnType<typeof setTimeout>;
    const end = followStream({
      url: () => addressOf("/changes"),
      onEvent: (event, data, isFirst) => {
        // The stream does not report changes from before its first event, so all queries are repeated. If nothing has changed,
        // the response is only a short 304.
        if (isFirst) timer = setTimeout(() => invalidate(all), SETTLE_MS);
        if (event === "state") invalidate((JSON.parse(data) as Changes).topics);
      },
      onRejected: () => invalidate(all),
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, []);
}

declare module "@tanstack/react-query" {
  interface Register {
    queryMeta: { readonly topics?: readonly Topic[]; readonly isFollowed?: boolean };
  }
}
