import { type Line, nextLine, type Share } from "./share.ts";

/** A delivery that is due. */
export interface Due {
  readonly seq: number;
  readonly fence: number;
  /** At most so many bytes has the body that is sent. */
  readonly bodyBytes: number;
}

/** An endpoint that something is due for. */
export interface DueEndpoint extends Line {
  readonly id: string;
  /** When the oldest of what is due became due. */
  readonly oldestMs: number;
}

/** What the process that claims has room for. */
export interface Room {
  /** Attempts that it can begin. */
  readonly places: number;
  /** Attempts of one endpoint at a time, in all processes. */
  readonly perEndpoint: number;
  readonly bodies: Bodies;
}

/** Memory for bodies of attempts under way, in this process. */
export interface Bodies {
  readonly budgetBytes: number;
  /** What the attempts under way hold, by account. */
  readonly heldBytes: ReadonlyMap<string, number>;
}

/**
 * Chooses what to begin, by the rule of share.ts; of two endpoints with as many attempts under way, the one that has waited longest.
 *
 * An account gets a place only while more places are free than it has attempts under way, and room for a body only
 * while as much as it would then hold stays free. So one account alone gets half of both, n accounts get 1/(n+1) each,
 * and an account with nothing under way finds a place as long as there are fewer such accounts than places.
 *
 * When the account whose turn it is has nothing under way and its body does not fit, memory is reserved for it: until it
 * fits, only small bodies begin. Without this, two accounts with slow receivers and bodies of 1 MB kept a body of 12 MB
 * waiting for ever. With it, the body waits at most until what is under way has ended.
 * @param endpoints changed: `underWay` counts what is chosen.
 * @param dueOf the oldest of what is due for an endpoint, at most so many.
 * @returns in the order in which they are to begin.
 */
export async function chooseFairly(
  endpoints: readonly DueEndpoint[],
  { places, perEndpoint, bodies }: Room,
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
 * A small body has at most this part of the budget. A process has 64 places, so small bodies hold at most half of the
 * budget, and the other half becomes free for a body that waits for it.
 */
const SMALL_PART = 128;

/** The body of an account that holds nothing needs no more than the half that always becomes free. */
const neededBytes = (bytes: number, holds: number, budgetBytes: number) =>
  holds === 0 ? Math.min(2 * bytes, budgetBytes / 2) : holds + 2 * bytes;

const byAge = (a: DueEndpoint, b: DueEndpoint) => a.oldestMs - b.oldestMs || (a.id < b.id ? -1 : 1);
