import { useInfiniteQuery } from "@tanstack/react-query";

/** A paginated list, newest first: the loaded pages and access to the next. */
export function useParts<T extends { readonly next: string | null }>(
  key: readonly unknown[],
  ask: (before?: string) => Promise<T>,
  refetchInterval?: number,
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => ask(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: refetchInterval ?? false,
    select: ({ pages }) => pages as readonly T[],
  });
  return query;
}
