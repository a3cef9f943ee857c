import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Total } from "../../store/search/types.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { sendChanges } from "../responses/sse-state.ts";
import type { StreamBudget } from "../responses/stream-budget.ts";
import type { ListChange } from "./api/lists.ts";
import { tagOf } from "./compress.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { queryOf } from "./parse.ts";
import { personOf } from "./session.ts";

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
export interface List<Query, R extends Row> {
  readonly path: string;
  readonly schema: z.ZodType<Query>;
  /** @throws ClientError for an account that the person may not see. */
  readonly read: (request: FastifyRequest, query: Query) => Promise<Page<R>>;
  readonly readOne: (request: FastifyRequest, id: string) => Promise<R | undefined>;
  readonly count: (request: FastifyRequest, query: Query) => Promise<Total>;
}

/** The routes `…/total` and `…/live` of a list; see api/lists.ts. */
export function listRoutes<Query, R extends Row>(
  server: FastifyInstance,
  { store }: DashboardDependencies,
  { path, schema, read, readOne, count }: List<Query, R>,
  {
    answers,
    streams,
    ended,
  }: { readonly answers: LongAnswers; readonly streams: StreamBudget; readonly ended: AbortSignal },
): void {
  const config = { session: "member" } as const;

  server.get(`${path}/total`, { config }, async (request): Promise<Total> => count(request, queryOf(request, schema)));

  server.get(`${path}/live`, { config }, async (request, reply) => {
    const { mark, ...rest } = request.query as Record<string, unknown>;
    request.query = rest;
    const query = queryOf(request, schema);
    await read(request, query); // an error must be the response, before the stream begins
    streams.open(personOf(request).id, reply);
    const accounts = JSON.stringify(personOf(request).accountIds);
    const follow = new Follow(
      mark,
      () => read(request, query),
      (id) => readOne(request, id),
    );
    return sendChanges(answers, request, reply, ended, {
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
        const person = await store.sessions.find(request.sessionHash ?? "");
        return person !== undefined && JSON.stringify(person.accountIds) === accounts;
      },
      read: async () => ({ isLast: false, value: await follow.change() }),
    });
  });
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
