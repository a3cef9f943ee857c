import type { Logger } from "pino";
import type { Store } from "../store/store.ts";
import type { Claim, Lease } from "../store/submissions/types.ts";
import type { Conversation, Given, WorkerSide } from "./conversation.ts";
import { InProcessConversation, inputBudget } from "./in-process.ts";
import { StoredConversation, StoredWorkerSide } from "./stored.ts";

export interface ConversationsOptions {
  readonly store: Pick<Store, "live" | "liveInput">;
  readonly log: Logger;
  /** Whether every client of the runs that begin in this process is connected to this process, and uses this object. */
  readonly inProcess: boolean;
}

/**
 * The conversations of a process, with clients or with programs. Which implementation a conversation has is decided when a worker begins to
 * run the claimed submission. Clients do not notice it: until then, what they give is in the database, and the worker reads it from there.
 */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #waitingInput = inputBudget();
  /** The conversations in the memory of this process, by the id of the submission. */
  readonly #inProcess = new Map<string, InProcessConversation>();
  readonly #begun = new WeakMap<Lease, WorkerSide>();
  /** The last `give` under way for a submission, by its id. */
  readonly #giving = new Map<string, Promise<unknown>>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /** The side of the clients. @param accountId the account of the submission. */
  of(id: string, accountId: string): Conversation {
    const stored = new StoredConversation(this.#options.store, id, accountId);
    const now = (): Conversation => {
      const conversation = this.#inProcess.get(id);
      return conversation?.accountId === accountId ? conversation : stored;
    };
    return {
      give: (inputs) => this.#afterEarlier(id, () => now().give(inputs)),
      read: (seen, admit) => now().read(seen, admit),
      // The same for both, and it announces as well that one follows the other.
      onChange: (listener) => stored.onChange(listener),
    };
  }

  /**
   * Calls `give` after all earlier ones for this submission. So input in memory comes after all input that is still being stored, and
   * counts with it; and many clients of one submission do not occupy the connections to the database.
   */
  async #afterEarlier(id: string, give: () => Promise<Given>): Promise<Given> {
    const earlier = this.#giving.get(id);
    const given = (async () => {
      await earlier?.catch(() => {});
      return await give();
    })();
    this.#giving.set(id, given);
    try {
      return await given;
    } finally {
      if (this.#giving.get(id) === given) this.#giving.delete(id);
    }
  }

  /** The worker's side of the conversation with a claimed submission, whose program runs in this process. Later calls return the same one. */
  begin(claim: Claim): WorkerSide {
    const { store, log, inProcess } = this.#options;
    const begun = this.#begun.get(claim.lease);
    if (begun) return begun;
    const { id } = claim.submission;
    const side = inProcess
      ? new InProcessConversation(store, claim, this.#waitingInput)
      : new StoredWorkerSide(store, claim, log);
    if (side instanceof InProcessConversation) this.#inProcess.set(id, side);
    this.#begun.set(claim.lease, side);
    return side;
  }

  /** Takes no more output and input of a run. It must resolve before the end of the run is stored, which deletes what is in the database. */
  async stop({ lease }: Pick<Claim, "lease">): Promise<void> {
    await this.#begun.get(lease)?.stop();
  }

  /** Forgets a run whose end has been stored, or which this process has given up. */
  forget({ lease }: Pick<Claim, "lease">): void {
    const side = this.#begun.get(lease);
    this.#begun.delete(lease);
    if (!(side instanceof InProcessConversation) || this.#inProcess.get(lease.submissionId) !== side) return;
    void side.stop();
    this.#inProcess.delete(lease.submissionId);
    this.#options.store.live.announce(lease.submissionId); // readers go on with the database
  }
}
