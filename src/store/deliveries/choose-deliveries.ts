import { leavesAsMuch } from "../../fairness/budget.ts";
import { nextQueue, type OwnedQueue, type QueueOwner } from "../../fairness/turn.ts";

/** A due delivery. */
export interface Due {
  readonly seq: number;
  readonly fence: number;
  /** Upper bound of the body's size. */
  readonly bodyBytes: number;
}

/** An endpoint with due deliveries. Its owner is the account. */
export interface DueEndpoint extends OwnedQueue {
  readonly id: string;
  /** When the oldest due delivery became due. */
  readonly oldestMs: number;
}

/** What the claiming process may start. */
export interface DeliveryBudget {
  /** Attempts. */
  readonly attempts: number;
  /** Maximum concurrent attempts per endpoint, in all processes. */
  readonly perEndpoint: number;
  readonly bodies: Bodies;
}

/** Memory for bodies of attempts under way, in this process. */
export interface Bodies {
  readonly budgetBytes: number;
  /** Bytes that attempts under way hold, by account. */
  readonly heldBytes: ReadonlyMap<string, number>;
}

/**
 * Chooses the deliveries to start. Accounts and their endpoints take turns (src/fairness/turn.ts). Of endpoints with equally many
 * attempts in progress, the one that has waited longest is served.
 *
 * Attempts and the memory for bodies are shared: a single account gets half of both, and each of n accounts gets 1/(n + 1). Memory
 * follows the rule of shared budgets (src/fairness/budget.ts). For attempts, the rule is weaker: an account that has fewer attempts in
 * progress than are free can start one, so that the last free attempt is used as well.
 *
 * If the next account has no attempt in progress and its body does not fit, memory is reserved for the body: until it fits, only
 * small bodies start. Without the reservation, two accounts with slow receivers and bodies of 1 MB blocked a body of 12 MB
 * permanently. With it, the body waits at most until the attempts that are in progress now have ended.
 * @param endpoints modified: `underWay` includes the chosen deliveries.
 * @param dueOf returns the oldest due deliveries of an endpoint, up to a number.
 * @returns deliveries in the order of their start.
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
 * A small body has at most this part of the budget. With 64 attempts, small bodies hold at most half of the budget, so the
 * other half becomes free for a waiting body.
 */
const SMALL_PART = 128;

/** The first body of an account counts as at most a quarter of the budget, because half of the budget always becomes free. */
const countedBytes = (bytes: number, holds: number, budgetBytes: number) =>
  holds === 0 ? Math.min(bytes, budgetBytes / 4) : bytes;

const byAge = (a: DueEndpoint, b: DueEndpoint) => a.oldestMs - b.oldestMs || (a.id < b.id ? -1 : 1);
