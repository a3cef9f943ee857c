/**
 * A notification that something has changed, without the change itself: listeners query the database again, so duplicate and
 * spurious notifications are harmless.
 */
export type StoreNotification =
  /** A submission may be claimed. */
  | { readonly kind: "work" }
  /** Submissions or judgements have been added. Only databases with one writer send it, where "work" precedes the commit. */
  | { readonly kind: "added" }
  /** Submissions have ended. */
  | { readonly kind: "ends" }
  /** A webhook delivery may be due. */
  | { readonly kind: "deliveries" }
  /** A worker has announced its state, or has left. */
  | { readonly kind: "workers" }
  /** Every worker shall make a new proof. */
  | { readonly kind: "prove" }
  /** A submission or judgement has ended. */
  | { readonly kind: "ended"; readonly id: string }
  /** A watched submission has started or has new output, or runs of a judgement have ended. */
  | { readonly kind: "live"; readonly id: string }
  /** A running submission has new input. */
  | { readonly kind: "input"; readonly id: string }
  /** A process has claimed a sandbox, or it has ended. */
  | { readonly kind: "sandbox"; readonly id: string }
  /** A sandbox waits for a process that claims it. */
  | { readonly kind: "sandboxes" }
  /** A process has announced its end of links, or has left. */
  | { readonly kind: "links" };

type Topic = Exclude<StoreNotification, { readonly id: string }>["kind"];
type OneTopic = Extract<StoreNotification, { readonly id: string }>["kind"];
const TOPICS: readonly Topic[] = ["work", "added", "ends", "deliveries", "workers", "prove", "sandboxes", "links"];

export function isTopic(text: string): text is Topic {
  return (TOPICS as readonly string[]).includes(text);
}

export function isAboutOne(text: string): text is OneTopic {
  return text === "ended" || text === "live" || text === "input" || text === "sandbox";
}

/**
 * Distributes notifications to listeners in this process. Transactions publish notifications after their commits, and the engine publishes
 * those of other processes.
 */
export class Notifier {
  readonly #listeners: Readonly<Record<Topic, Set<() => void>>> = {
    work: new Set(),
    added: new Set(),
    ends: new Set(),
    deliveries: new Set(),
    workers: new Set(),
    prove: new Set(),
    sandboxes: new Set(),
    links: new Set(),
  };
  /** Listeners by kind and id. */
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #pending = new Set<Topic>();
  #onFirst: () => void;

  /** @param onFirst called once, at the first subscription. */
  constructor(onFirst: () => void = () => {}) {
    this.#onFirst = onFirst;
  }

  /**
   * Subscribes to a topic. The listener is called in a later iteration of the event loop, at most once per iteration.
   * @returns a function that ends the subscription.
   */
  on(topic: Topic, listener: () => void): () => void {
    this.#begin();
    const subscription = () => listener(); // allows a listener to subscribe twice
    this.#listeners[topic].add(subscription);
    return () => this.#listeners[topic].delete(subscription);
  }

  /** Subscribes to the end of one submission or judgement. @returns a function that ends the subscription. */
  onEnd(submissionId: string, listener: () => void): () => void {
    return this.#onOne(`ended ${submissionId}`, listener);
  }

  /**
   * Subscribes to the start and output of one submission, or to ends of runs of one judgement.
   * @returns a function that ends the subscription.
   */
  onLive(submissionId: string, listener: () => void): () => void {
    return this.#onOne(`live ${submissionId}`, listener);
  }

  /** Subscribes to the input of one submission. @returns a function that ends the subscription. */
  onInput(submissionId: string, listener: () => void): () => void {
    return this.#onOne(`input ${submissionId}`, listener);
  }

  /** Subscribes to the claim and the end of one sandbox. @returns a function that ends the subscription. */
  onSandbox(sandboxId: string, listener: () => void): () => void {
    return this.#onOne(`sandbox ${sandboxId}`, listener);
  }

  publish(notification: StoreNotification): void {
    if ("id" in notification) {
      this.#wake(`${notification.kind} ${notification.id}`);
      return;
    }
    const { kind } = notification;
    if (this.#pending.has(kind)) return;
    this.#pending.add(kind);
    setImmediate(() => {
      this.#pending.delete(kind);
      for (const listener of [...this.#listeners[kind]]) listener();
    });
  }

  /** Wakes all listeners after a possible loss of notifications. */
  sayAll(): void {
    for (const kind of TOPICS) this.publish({ kind });
    for (const name of [...this.#waiters.keys()]) this.#wake(name);
  }

  #onOne(name: string, listener: () => void): () => void {
    this.#begin();
    const waiters = this.#waiters.get(name) ?? new Set();
    this.#waiters.set(name, waiters.add(listener));
    return () => {
      waiters.delete(listener);
      if (waiters.size === 0) this.#waiters.delete(name);
    };
  }

  #wake(name: string): void {
    for (const listener of [...(this.#waiters.get(name) ?? [])]) listener();
  }

  #begin(): void {
    const onFirst = this.#onFirst;
    this.#onFirst = () => {};
    onFirst();
  }
}
