import type { History } from "../../../../src/http/dashboard/api/overview.ts";

/** The deliveries of the endpoint where most fail, or the endpoints. */
export function deliveriesLink(failing: History["failing"]) {
  const worst = failing.find(({ removed }) => !removed);
  return worst ? ({ to: "/webhooks/$id", params: { id: worst.id } } as const) : ({ to: "/webhooks" } as const);
}
