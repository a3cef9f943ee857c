import type { History } from "../../../../src/http/dashboard/api/overview.ts";

/**
 * The page of the endpoint with the most failed deliveries, among those that still exist; the list of endpoints if there is none.
 * @param failing The endpoints with failed deliveries, those with the most first.
 */
export function deliveriesLink(failing: History["failing"]) {
  const worst = failing.find(({ removed }) => !removed);
  return worst ? ({ to: "/webhooks/$id", params: { id: worst.id } } as const) : ({ to: "/webhooks" } as const);
}
