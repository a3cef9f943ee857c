import { useInfiniteQuery } from "@tanstack/react-query";
import type { Topic } from "../../../src/http/dashboard/api/changes.ts";

/**
 * A paginated list: the pages that are loaded, and a function that loads the next one.
 * @param ask requests the page after `before`, or the first page.
 * @param topics The list is requested again when one of these topics changes.
 */
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
