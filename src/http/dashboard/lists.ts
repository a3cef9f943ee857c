import { z } from "zod";
import type { Total } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import { sendChanges } from "../responses/sse-state.ts";
import type { ListChange } from "./api/lists.ts";
import { tagOf } from "./compress.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import type { SignedIn } from "./session.ts";

/** How often a list is read again while it has rows that have not ended, because the start of a run is not announced. */
const OPEN_MS = 2_000;
/** The most rows that are followed after they have left the first page before their end. */
const MAX_FOLLOWED = 20;

interface Row {
  readonly id: string;
  readonly completedAt: string | null;
}

interface Page<R> {
  readonly rows: readonly R[];
  readonly next: string | null;
}

/** A list whose first page clients can follow. */
export interface List<Schema extends z.ZodObject, R extends Row> {
  /** The path of the list below API. */
  readonly path: string;
  readonly schema: Schema;
  /** @throws ClientError for an account that the person may not see. */
  readonly read: (store: Store, person: SignedIn, query: z.output<Schema>) => Promise<Page<R>>;
  readonly readOne: (store: Store, person: SignedIn, id: string) => Promise<R | undefined>;
  readonly count: (store: Store, person: SignedIn, query: z.output<Schema>) => Promise<Total>;
}

/** The routes `…/total` and `…/live` of a list; see api/lists.ts. */
export function listRoutes<Schema extends z.ZodObject, R extends Row>({
  path,
  schema,
  read,
  readOne,
  count,
}: List<Schema, R>): DashboardRoute[] {
  return [
    dashboardRoute({
      method: "get",
      path: `${path}/total`,
      session: "member",
      query: schema,
      handler:
        ({ dependencies: { store } }) =>
        async ({ person, query }): Promise<Total> =>
          count(store, person, query as z.output<Schema>),
    }),
    dashboardRoute({
      method: "get",
      path: `${path}/live`,
      session: "member",
      query: schema.extend({ mark: z.unknown().optional() }),
      handler:
        ({ dependencies: { store }, answers, streams, stopping }) =>
        async ({ request, reply, person, query: { mark, ...rest } }) => {
          const query = rest as z.output<Schema>;
          await read(store, person, query); // an error must be the response, before the stream begins
          streams.open(person.id, reply);
          const accounts = JSON.stringify(person.accountIds);
          const follow = new Follow(
            mark,
            () => read(store, person, query),
            (id) => readOne(store, person, id),
          );
          return sendChanges(answers, request, reply, stopping, {
            heartbeat: "event: alive\ndata: {}\n\n",
            subscribe: (listener) => {
              const timer = setInterval(() => follow.hasOpen && listener(), OPEN_MS);
              const ends = [store.onAdded(listener), store.onEnds(listener), () => clearInterval(timer)];
              return () => {
                for (const end of ends) end();
              };
            },
            /** A session can end, and a person can gain or lose an account, while a stream is open. */
            isAllowed: async () => {
              const now = await store.sessions.find(request.sessionHash ?? "");
              return now !== undefined && JSON.stringify(now.accountIds) === accounts;
            },
            read: async () => ({ isLast: false, value: await follow.change() }),
          });
        },
    }),
  ];
}

/** The mark of a page. A stream that gets it begins without the rows of the page, if they have not changed. */
export function markOf(rows: readonly Row[]): string {
  return tagOf(JSON.stringify(rows));
}

/** Finds what has changed in the first page of a list, and in rows that left it before they had ended. */
class Follow<R extends Row> {
  #seen: ReadonlyMap<string, { readonly text: string; readonly isOpen: boolean }> | null = null;
  readonly #mark: unknown;
  readonly #read: () => Promise<Page<R>>;
  readonly #readOne: (id: string) => Promise<R | undefined>;

  constructor(mark: unknown, read: () => Promise<Page<R>>, readOne: (id: string) => Promise<R | undefined>) {
    this.#mark = mark;
    this.#read = read;
    this.#readOne = readOne;
  }

  get hasOpen(): boolean {
    return [...(this.#seen?.values() ?? [])].some(({ isOpen }) => isOpen);
  }

  /** @returns null without a change. */
  async change(): Promise<ListChange<R> | null> {
    const seen = this.#seen;
    const { rows: first, next } = await this.#read();
    const ids = new Set(first.map(({ id }) => id));
    const left = [...(seen ?? [])].filter(([id, { isOpen }]) => isOpen && !ids.has(id)).slice(0, MAX_FOLLOWED);
    const alone = await Promise.all(left.map(([id]) => this.#readOne(id)));
    const rows = [...first, ...alone.filter((row) => row !== undefined)];
    this.#seen = new Map(
      rows.map((row) => [row.id, { text: JSON.stringify(row), isOpen: row.completedAt === null }] as const),
    );
    if (seen === null) return markOf(first) === this.#mark ? null : { rows, next, gap: false };
    const changed = rows.filter(({ id }) => seen.get(id)?.text !== this.#seen?.get(id)?.text);
    if (changed.length === 0) return null;
    return { rows: changed, next, gap: next !== null && first.every(({ id }) => !seen.has(id)) };
  }
}
