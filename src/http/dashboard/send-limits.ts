import { AdminError } from "../../admin/error.ts";
import type { ReplayBounds, SendKind } from "../../store/deliveries/types.ts";
import type { Store } from "../../store/store.ts";

/** Requests per account and minute, by what they send. They are limited because a receiver can belong to a third party. */
const PER_MINUTE: Readonly<Record<SendKind, number>> = { tests: 10, replays: 10 };

/**
 * Bounds of the replays of an account. A replay adds a row that no rate limit counts, so a receiver that fails at once could otherwise
 * cause any number of rows.
 */
export const REPLAY_BOUNDS: ReplayBounds = { pending: 1_000, perMinute: 1_000 };

/** Counts a request that sends messages, over all processes. @throws AdminError if the account has reached PER_MINUTE. */
export async function takeSend({ sends }: Pick<Store, "sends">, kind: SendKind, accountId: string): Promise<void> {
  const limit = PER_MINUTE[kind];
  const waitSecs = await sends.take(accountId, kind, limit);
  if (waitSecs > 0) {
    throw new AdminError(`an account can send ${limit} ${kind} in a minute; try again in ${waitSecs} s`);
  }
}
