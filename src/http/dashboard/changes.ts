import { setTimeout as sleep } from "node:timers/promises";
import type { AnnouncedWorker } from "../../store/workers.ts";
import { sendChanges } from "../responses/sse-state.ts";
import { type Changes, TOPICS, type Topic } from "./api/changes.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/** Shortest time between two searches for changes. */
const LEAST_MS = 1_000;
/** Longest time between two searches. Not every change is announced: claims, attempts of deliveries and changed settings are not. */
const MOST_MS = 2_000;
/** Age at which the proofs of the workers are read again. Reading expired proofs starts new ones, and each proof is a run. */
const PROOFS_MS = 15_000;
/** The minute in which the requests of a key are counted, and one second more. */
const USAGE_MS = 61_000;

type Marks = Readonly<Record<Topic, string>>;

/** The viewers who see the same accounts. */
interface Scope {
  /** Null for all accounts. */
  readonly accountIds: readonly string[] | null;
  readonly viewers: Set<Viewer>;
  /** Null before the first search. */
  marks: Marks | null;
  /** Time of the last event with each topic. */
  readonly sentAt: Map<Topic, number>;
  /** Time at which `runs` changed last. */
  usedAt: number;
}

interface Viewer {
  /** Changes since the last event; null until the first search after the viewer was added. No change after that search is missed. */
  changed: Set<Topic> | null;
  readonly wake: () => void;
}

/**
 * Finds which data has changed, for all viewers of this process together. It compares marks of the database after each notification,
 * and at least every two seconds. Without a viewer, it reads nothing.
 */
export class ChangeWatch {
  readonly #d: DashboardDependencies;
  readonly #scopes = new Map<string, Scope>();
  #looking = false;
  #wake = () => {};
  /** The workers with their proofs, as text. */
  #proofs = "";
  /** The workers with their proofs, but without the times of the proofs, as text. */
  #checks = "";
  #proofsAt = Number.NEGATIVE_INFINITY;
  #askedForProofs: Promise<void> | null = null;

  constructor(d: DashboardDependencies) {
    this.#d = d;
  }

  /** Adds a viewer. @returns a function that removes it. */
  add(accountIds: readonly string[] | null, viewer: Viewer): () => void {
    const name = JSON.stringify(accountIds);
    const now = performance.now();
    const scope = this.#scopes.get(name) ?? {
      ...{ accountIds, viewers: new Set(), marks: null, sentAt: new Map<Topic, number>([["usage", now]]), usedAt: now },
    };
    this.#scopes.set(name, scope);
    scope.viewers.add(viewer);
    if (this.#looking) this.#wake();
    else void this.#findChanges();
    return () => {
      scope.viewers.delete(viewer);
      if (scope.viewers.size === 0) this.#scopes.delete(name);
      if (this.#scopes.size === 0) this.#wake();
    };
  }

  async #findChanges(): Promise<void> {
    const { store, log } = this.#d;
    this.#looking = true;
    let woken = Promise.withResolvers<void>();
    this.#wake = () => woken.resolve();
    const subscribe = [store.onAdded, store.onEnds, store.onDeliveries, store.workers.onChange];
    const ends = subscribe.map((on) => on(() => this.#wake()));
    while (this.#scopes.size > 0) {
      woken = Promise.withResolvers(); // armed before the reads, so that no change is missed
      this.#readProofs();
      for (const scope of [...this.#scopes.values()]) {
        await this.#compare(scope).catch((err: unknown) => log.warn({ err }, "changes could not be read"));
      }
      await sleep(LEAST_MS, undefined, { ref: false });
      await Promise.race([woken.promise, sleep(MOST_MS - LEAST_MS, undefined, { ref: false })]);
    }
    for (const end of ends) end();
    this.#looking = false;
  }

  /** Reads the proofs if they are old. The caller does not wait for them, because waiting for dead workers takes seconds. */
  #readProofs(): void {
    if (this.#askedForProofs || performance.now() - this.#proofsAt < PROOFS_MS) return;
    this.#askedForProofs = this.#d
      .nodes()
      .then((nodes) => {
        this.#proofs = JSON.stringify(nodes);
        this.#checks = JSON.stringify(nodes.map(({ provenAtMs: _, ...rest }: AnnouncedWorker) => rest));
      })
      .catch((err: unknown) => this.#d.log.warn({ err }, "the workers could not be read"))
      .finally(() => {
        this.#proofsAt = performance.now();
        this.#askedForProofs = null;
      });
  }

  async #compare(scope: Scope): Promise<void> {
    const { marks: before, sentAt } = scope;
    const now = performance.now();
    const isDue = (topic: Topic) => now - (sentAt.get(topic) ?? Number.NEGATIVE_INFINITY) >= TOPICS[topic] * 1_000 - 50;
    const { history } = this.#d.store;
    const read = await history.marks(scope.accountIds);
    const totals = before && !isDue("totals") ? before.totals : await history.totalsMark(scope.accountIds);
    if (before && read.runs !== before.runs) scope.usedAt = now;
    const capacity = JSON.stringify([this.#d.workers.capacity(), this.#d.workers.languages()]);
    const marks: Marks = {
      ...read,
      totals,
      usage: String(now - scope.usedAt < USAGE_MS ? now : 0),
      nodes: capacity + this.#proofs,
      health: capacity + this.#checks,
    };
    const topics = Object.keys(TOPICS) as Topic[];
    const changed = before ? topics.filter((topic) => marks[topic] !== before[topic] && isDue(topic)) : [];
    for (const topic of changed) sentAt.set(topic, now);
    // A topic whose event is not yet due keeps its old mark, so that a later comparison still finds the change.
    scope.marks = before ? { ...before, ...Object.fromEntries(changed.map((topic) => [topic, marks[topic]])) } : marks;
    for (const viewer of scope.viewers) {
      if (viewer.changed !== null && changed.length === 0) continue;
      viewer.changed = new Set([...(viewer.changed ?? []), ...changed]);
      viewer.wake();
    }
  }
}

/** Streams which data may have changed, so that a page reads it again. */
export const changesRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/changes",
    session: "member",
    handler: ({ dependencies, answers, streams, stopping }) => {
      const { store } = dependencies;
      const watch = new ChangeWatch(dependencies);
      return async ({ request, reply, person }) => {
        const { id, accountIds } = person;
        streams.open(id, reply);
        const viewer: Viewer = { changed: null, wake: () => {} };
        let isFirst = true;
        return sendChanges(answers, request, reply, stopping, {
          heartbeat: "event: alive\ndata: {}\n\n",
          subscribe: (wake) => watch.add(accountIds, Object.assign(viewer, { wake })),
          /** A session can end, and a person can gain or lose an account, while a stream is open. */
          isAllowed: async () => {
            const person = await store.sessions.find(request.sessionHash ?? "");
            return person !== undefined && JSON.stringify(person.accountIds) === JSON.stringify(accountIds);
          },
          read: async () => {
            const topics = viewer.changed && [...viewer.changed];
            if (topics === null || (topics.length === 0 && !isFirst)) return { isLast: false, value: null };
            viewer.changed = new Set();
            isFirst = false;
            const value: Changes = { topics };
            return { isLast: false, value };
          },
        });
      };
    },
  }),
];
