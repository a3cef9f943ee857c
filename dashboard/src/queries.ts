import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { asking, Refusal } from "./api.ts";

const SIGN_IN_NEEDED = 401;

/** What has been asked, while it is fresh. A session that ended is noticed by whichever question meets it first. */
export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEndOfSession }),
  mutationCache: new MutationCache({ onError: noticeEndOfSession }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What was refused is refused again; what was not answered may have been bad luck, once.
      retry: (failures, error) => failures < 1 && !(error instanceof Refusal && error.status > 0 && error.status < 500),
      retryDelay: 500,
    },
  },
});

function noticeEndOfSession(error: Error): void {
  const known = queries.getQueryData(asking.session().queryKey);
  if (!(error instanceof Refusal) || error.status !== SIGN_IN_NEEDED || !known?.person) return;
  queries.setQueryData(asking.session().queryKey, { ...known, person: null });
}
