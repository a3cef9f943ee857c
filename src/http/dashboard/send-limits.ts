import { AdminError } from "../../admin/error.ts";
import { MinuteWindow } from "../window.ts";

/**
 * Of one account in a minute. A test is a request to a server that may belong to another party. A replay adds rows that
 * no quota counts, up to 500 in one request.
 */
const PER_MINUTE = { tests: 10, replays: 10 };

/** What members can have sent, by account. */
export class SendLimits {
  readonly #windows = { tests: new MinuteWindow(), replays: new MinuteWindow() };

  /** @throws AdminError when the account has reached the limit. */
  take(kind: keyof typeof PER_MINUTE, accountId: string): void {
    const limit = PER_MINUTE[kind];
    const waitSecs = this.#windows[kind].take(accountId, limit);
    if (waitSecs > 0) {
      throw new AdminError(`an account can send ${limit} ${kind} in a minute; try again in ${waitSecs} s`);
    }
  }
}
