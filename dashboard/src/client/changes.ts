import { useEffect } from "react";
import { type Changes, TOPICS, type Topic } from "../../../src/http/dashboard/api/changes.ts";
import { addressOf } from "./api.ts";
import { queryClient } from "./query-client.ts";
import { followStream } from "./stream.ts";

/** Time for the answers to requests that were sent before the stream began. */
const SETTLE_MS = 1_000;

/** Repeats the visible queries of the topics; others are repeated when a page shows them. */
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
        // Changes before the first event are not in the stream. Unchanged answers are 304.
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
