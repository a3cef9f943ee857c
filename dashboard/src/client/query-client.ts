import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError, queries } from "./api.ts";
import { watchConnection } from "./connection.ts";

const SIGN_IN_NEEDED = 401;

/** The cache of queries. A response with status 401 shows that the session has ended, so the person is removed from the cache. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEndOfSession }),
  mutationCache: new MutationCache({ onError: noticeEndOfSession }),
  defaultOptions: {
    // By default, requests pause while the browser is offline, and nobody sees why. With "always", they fail, and the page says
    // so.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 10_000,
      // A request with a client error would fail again. Other failures are retried once.
      retry: (failures, error) =>
        failures < 1 && !(error instanceof ApiError && error.status > 0 && error.status < 500),
      retryDelay: 500,
    },
  },
});

watchConnection(
  () => queryClient.query({ ...queries.session(), staleTime: 0, retry: false }),
  // Lists that follow a stream are updated by the stream.
  () => void queryClient.invalidateQueries({ predicate: ({ meta }) => meta?.isFollowed !== true }),
);

function noticeEndOfSession(error: Error): void {
  const known = queryClient.getQueryData(queries.session().queryKey);
  if (!(error instanceof ApiError) || error.status !== SIGN_IN_NEEDED || !known?.person) return;
  queryClient.setQueryData(queries.session().queryKey, { ...known, person: null });
}
