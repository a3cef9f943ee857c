import { type Line, nextLine, type Share } from "../sharing/share.ts";

/** A due delivery. */
export interface Due {
  readonly seq: number;
  readonly fence: number;
  /** Upper bound of the body's size. */
  readonly bodyBytes: number;
}

/** An endpoint with due deliveries. */
export interface DueEndpoint extends Line {
  readonly id: string;
  /** When the oldest due delivery became due. */
  readonly oldestMs: number;
}

/** Free capacity of the claiming process. */
export interface DeliveryShare {
  /** Attempts that it can start. */
  readonly places: number;
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
 * Chooses the deliveries to start, by the rule of share.ts; with equal attempts under way, the endpoint that has waited longest.
 *
 * An account gets a place only while more places are free than it has attempts under way, and memory for a body only while
 * as much as it would then hold stays free. A single account gets half of both, n accounts get 1/(n+1) each, and an account
 * with nothing under way finds a place as long as there are fewer such accounts than places.
 *
 * If the next account has nothing under way and its body does not fit, memory is reserved for it: until it fits, only
 * small bodies start. Without the reservation, two accounts with slow receivers and bodies of 1 MB blocked a body of 12 MB
 * permanently. With it, the body waits at most until the attempts under way have ended.
 * @param endpoints modified: `underWay` includes the chosen deliveries.
 * @param dueOf returns the oldest due deliveries of an endpoint, up to a number.
 * @returns deliveries in the order of their start.
 */
export async function chooseFairly(
  endpoints: readonly DueEndpoint[],
  { places, perEndpoint, bodies }: DeliveryShare,
  dueOf: (endpoint: DueEndpoint, most: number) => Promise<Due[]>,
): Promise<(Due & { readonly account: Share })[]> {
  const held = new Map(bodies.heldBytes);
  let freeBytes = bodies.budgetBytes - [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  const found = new Map<DueEndpoint, Due[]>();
  const chosen: (Due & { readonly account: Share })[] = [];
  let open = endpoints;
  let reserved = false;
  while (chosen.length < places) {
    const free = places - chosen.length;
    open = open.filter(({ underWay, account }) => underWay < perEndpoint && account.underWay < free);
    const endpoint = nextLine(open, byAge);
    if (!endpoint) break;
    const { account } = endpoint;
    const due = found.get(endpoint) ?? (await dueOf(endpoint, perEndpoint - endpoint.underWay));
    found.set(endpoint, due);
    const next = due.shift();
    const holds = held.get(account.id) ?? 0;
    if (!next) open = open.filter((one) => one !== endpoint);
    else if (
      (reserved && next.bodyBytes > bodies.budgetBytes / SMALL_PART) ||
      freeBytes < neededBytes(next.bodyBytes, holds, bodies.budgetBytes)
    ) {
      reserved ||= account.underWay === 0;
      open = open.filter((one) => one.account !== account);
    } else {
      chosen.push({ ...next, account });
      held.set(account.id, holds + next.bodyBytes);
      freeBytes -= next.bodyBytes;
      account.underWay++;
      endpoint.underWay++;
    }
  }
  return chosen;
}

/**
 * A small body has at most this part of the budget. With 64 places, small bodies hold at most half of the budget, so the
 * other half becomes free for a waiting body.
 */
const SMALL_PART = 128;

/** The first body of an account needs at most the half that always becomes free. */
const neededBytes = (bytes: number, holds: number, budgetBytes: number) =>
  holds === 0 ? Math.min(2 * bytes, budgetBytes / 2) : holds + 2 * bytes;

const byAge = (a: DueEndpoint, b: DueEndpoint) => a.oldestMs - b.oldestMs || (a.id < b.id ? -1 : 1);
