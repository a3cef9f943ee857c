import { leavesAsMuch } from "../../fairness/budget.ts";
import { nextQueue, type OwnedQueue, type QueueOwner } from "../../fairness/turn.ts";

/** A due delivery. */
export interface Due {
  readonly seq: number;
  readonly fence: number;
  /** Upper bound of the size of the request's body. */
  readonly bodyBytes: number;
}

/** An endpoint with due deliveries. Its `owner` is the account. */
export interface DueEndpoint extends OwnedQueue {
  readonly id: string;
  /** When the oldest due delivery became due. */
  readonly oldestMs: number;
}

/** What the claiming process may start. */
export interface DeliveryBudget {
  /** The most attempts to start. */
  readonly attempts: number;
  /** The most concurrent attempts to one endpoint, in all processes. */
  readonly perEndpoint: number;
  readonly bodies: Bodies;
}

/** Memory of this process for the bodies of attempts under way. */
export interface Bodies {
  /** The most bytes that all attempts may hold together. */
  readonly budgetBytes: number;
  /** The bytes that the attempts under way of each account hold now. */
  readonly heldBytes: ReadonlyMap<string, number>;
}

/**
 * Chooses the deliveries to start. Accounts take turns, and so do the endpoints of an account (src/fairness/turn.ts). Of endpoints of
 * one account with equally many attempts in progress, the one whose oldest due delivery has waited longest is served.
 *
 * Accounts share the attempts and the memory for bodies: a single account gets at most half of both, and each of n busy accounts gets
 * 1/(n + 1). Memory follows the rule of shared budgets (src/fairness/budget.ts). The rule for attempts is weaker: an account with fewer
 * attempts in progress than are free can start one, so that the last free attempt is used as well.
 *
 * If the next account has no attempt in progress and its body does not fit, memory is reserved for the body: until it fits, only
 * small bodies start. Without the reservation, two accounts with slow receivers and bodies of 1 MB blocked a body of 12 MB
 * permanently. With it, the body waits at most until the attempts that are in progress now have ended.
 * @param endpoints the function adds the chosen deliveries to `underWay` of the endpoints and of their owners.
 * @param dueOf returns the oldest due deliveries of an endpoint, at most `most`.
 * @returns the deliveries in the order in which to start them.
 */
export async function chooseDeliveries(
  endpoints: readonly DueEndpoint[],
  { attempts, perEndpoint, bodies }: DeliveryBudget,
  dueOf: (endpoint: DueEndpoint, most: number) => Promise<Due[]>,
): Promise<(Due & { readonly owner: QueueOwner })[]> {
  const held = new Map(bodies.heldBytes);
  let freeBytes = bodies.budgetBytes - [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  const found = new Map<DueEndpoint, Due[]>();
  const chosen: (Due & { readonly owner: QueueOwner })[] = [];
  let open = endpoints;
  let reserved = false;
  while (chosen.length < attempts) {
    const free = attempts - chosen.length;
    open = open.filter(({ underWay, owner }) => underWay < perEndpoint && owner.underWay < free);
    const endpoint = nextQueue(open, byAge);
    if (!endpoint) break;
    const { owner } = endpoint;
    const due = found.get(endpoint) ?? (await dueOf(endpoint, perEndpoint - endpoint.underWay));
    found.set(endpoint, due);
    const next = due.shift();
    const holds = held.get(owner.id) ?? 0;
    if (!next) open = open.filter((one) => one !== endpoint);
    else if (
      (reserved && next.bodyBytes > bodies.budgetBytes / SMALL_PART) ||
      !leavesAsMuch(holds, countedBytes(next.bodyBytes, holds, bodies.budgetBytes), freeBytes)
    ) {
      reserved ||= owner.underWay === 0;
      open = open.filter((one) => one.owner !== owner);
    } else {
      chosen.push({ ...next, owner });
      held.set(owner.id, holds + next.bodyBytes);
      freeBytes -= next.bodyBytes;
      owner.underWay++;
      endpoint.underWay++;
    }
  }
  return chosen;
}

/**
 * A body is small if it has at most 1/128 of the budget. The small bodies of 64 attempts hold at most half of the budget, so the other
 * half becomes free for a waiting body.
 */
const SMALL_PART = 128;

/**
 * The first body of an account counts as at most a quarter of the budget. The rule of shared budgets admits a quarter when half of
 * the budget is free, and half of it always becomes free.
 */
const countedBytes = (bytes: number, holds: number, budgetBytes: number) =>
  holds === 0 ? Math.min(bytes, budgetBytes / 4) : bytes;

const byAge = (a: DueEndpoint, b: DueEndpoint) => a.oldestMs - b.oldestMs || (a.id < b.id ? -1 : 1);
