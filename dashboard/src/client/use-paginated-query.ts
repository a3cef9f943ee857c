import { useInfiniteQuery } from "@tanstack/react-query";
import type { Topic } from "../../../src/http/dashboard/api/changes.ts";

/** A paginated list, newest first: the loaded pages and access to the next. @param topics whose changes make it stale. */
export function usePaginatedQuery<T extends { readonly next: string | null }>(
  key: readonly unknown[],
  ask: (before?: string) => Promise<T>,
  topics: readonly Topic[] = [],
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => ask(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    meta: { topics },
    select: ({ pages }) => pages as readonly T[],
  });
  return query;
}
