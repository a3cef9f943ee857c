import { useEffect } from "react";
import { type Changes, TOPICS, type Topic } from "../../../src/http/dashboard/api/changes.ts";
import { addressOf } from "./api.ts";
import { queryClient } from "./query-client.ts";
import { followStream } from "./stream.ts";

/** In this time, the requests that were sent before the stream began are answered. */
const SETTLE_MS = 1_000;

/** Repeats the visible queries of the topics at once. The others are repeated when a page shows them. */
function invalidate(topics: readonly string[]): void {
  void queryClient.invalidateQueries({
    predicate: ({ meta }) => meta?.topics?.some((one) => topics.includes(one)) === true,
  });
}

/** Follows which data of the service changes, for as long as the page is open. */
export function useChanges(): void {
  useEffect(() => {
    const all = Object.keys(TOPICS);
    let timer: ReturnType<typeof setTimeout>;
    const end = followStream({
      url: () => addressOf("/changes"),
      onEvent: (event, data, isFirst) => {
        // The stream does not report changes from before its first event. An unchanged answer is a short 304.
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
