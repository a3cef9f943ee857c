import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { JUDGEMENT_VERDICTS } from "../../domain/judgement.ts";
import type { FoundJudgement, ReadJudgement } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import { ownerOf } from "../access/caller.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import type { StreamBudget } from "../responses/stream-budget.ts";
import type { Judgements } from "./api/judgements.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { judgementDetailOf, SHOWN_BYTES, testDetailOf, toJudgementRow } from "./judgement-detail.ts";
import { listRoutes, markOf } from "./lists.ts";
import { queryOf } from "./parse.ts";
import { personOf } from "./session.ts";
import { accountsOf, noteReading, search, toSearch } from "./submissions.ts";

export const JUDGEMENTS = "/dashboard/api/judgements";

const judgementSearch = search.omit({ cause: true }).extend({
  verdict: z.enum(JUDGEMENT_VERDICTS).optional(),
  problem: z.uuid().toLowerCase().optional(),
});

/** The bytes that a page shows of an input and its answers, of which there are at most eight. */
const CONTENTS_BYTES = 9 * SHOWN_BYTES;

/** /dashboard/api/judgements: lists judgements, and returns a judgement or one of its tests. */
export function judgementRoutes(
  server: FastifyInstance,
  d: DashboardDependencies,
  answers: LongAnswers,
  streams: StreamBudget,
  ended: AbortSignal,
): void {
  const { store, languages } = d;
  const config = { session: "member" } as const;
  type Query = z.output<typeof judgementSearch>;
  const searchOf = (request: FastifyRequest, { account, problem, ...which }: Query) => ({
    ...toSearch(which, accountsOf(request, account)),
    problemId: problem,
  });
  const read = async (request: FastifyRequest, query: Query) => {
    const { found, next } = await store.judgementSearch.search(searchOf(request, query));
    return { rows: found.map(toJudgementRow), next: next === null ? null : String(next) };
  };

  server.get(JUDGEMENTS, { config }, async (request): Promise<Judgements> => {
    const { rows, next } = await read(request, queryOf(request, judgementSearch));
    return { judgements: rows, next, mark: markOf(rows) };
  });

  listRoutes(
    server,
    d,
    {
      ...{ path: JUDGEMENTS, schema: judgementSearch, read },
      readOne: async (request, id) => {
        const { accountIds } = personOf(request);
        return (await store.judgementSearch.search({ id, accountIds, max: 1 })).found.map(toJudgementRow)[0];
      },
      count: (request, query) => store.judgementSearch.count(searchOf(request, query)),
    },
    { answers, streams, ended },
  );

  server.get(`${JUDGEMENTS}/:id`, { config }, async (request, reply) => {
    const read = await readOwn(store, answers, request, reply);
    return answers.send(ownerOf(request), reply, judgementDetailOf(read, languages));
  });

  server.get(`${JUDGEMENTS}/:id/tests/:test`, { config }, async (request, reply) => {
    const found = await findOwn(store, request);
    const test = Number(/^\d{1,4}$/.exec((request.params as { test: string }).test)?.[0] ?? found.states.length);
    if (test >= found.states.length) throw clientError("notFound", []);
    await noteReading(store, request, "judgement.read", found);
    const admit = answers.admitFor(ownerOf(request), request, reply);
    await admit(CONTENTS_BYTES);
    const contents = await store.judgementSearch.readContents(found.id, test, SHOWN_BYTES);
    const run = await store.judgementSearch.runOf(found.id, test);
    const submission = run === undefined ? run : await store.submissions.get(run, found.account.id, admit);
    return answers.send(ownerOf(request), reply, testDetailOf(contents, submission));
  });
}

/** The judgement named by the path. @throws ClientError notFound, also for a judgement of another account. */
export async function findOwn(store: Store, request: FastifyRequest): Promise<FoundJudgement> {
  const { id } = request.params as { id: string };
  const criteria = { id: id.toLowerCase(), accountIds: personOf(request).accountIds, max: 1 };
  const [found] = (await store.judgementSearch.search(criteria)).found;
  if (!found) throw clientError("notFound", []);
  return found;
}

/**
 * Reads the judgement named by the path, with its program. Before the response, access by an administrator is recorded in the audit
 * trail. @throws ClientError notFound, also for a judgement of another account.
 */
async function readOwn(
  store: Store,
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ReadJudgement> {
  const { id } = request.params as { id: string };
  const admit = answers.admitFor(ownerOf(request), request, reply);
  const read = await store.judgementSearch.read(id.toLowerCase(), personOf(request).accountIds, admit);
  if (!read) throw clientError("notFound", []);
  await noteReading(store, request, "judgement.read", read.found);
  return read;
}
