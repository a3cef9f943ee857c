import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { JUDGEMENT_VERDICTS } from "../../domain/judgement.ts";
import type { FoundJudgement, ReadJudgement } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import { ownerOf } from "../access/caller.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import type { Judgements } from "./api/judgements.ts";
import { judgementDetailOf, SHOWN_BYTES, testDetailOf, toJudgementRow } from "./judgement-detail.ts";
import { listRoutes, markOf } from "./lists.ts";
import { accountsFor } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { personOf, type SignedIn } from "./session.ts";
import { noteReading, search, toSearch } from "./submissions.ts";

const judgementSearch = search.omit({ cause: true }).extend({
  verdict: z.enum(JUDGEMENT_VERDICTS).optional(),
  problem: z.uuid().toLowerCase().optional(),
});

/** The bytes that a page shows of an input and its answers, of which there are at most eight. */
const CONTENTS_BYTES = 9 * SHOWN_BYTES;

type Query = z.output<typeof judgementSearch>;

function searchOf(person: SignedIn, { account, problem, ...which }: Query) {
  return { ...toSearch(which, accountsFor(person, account)), problemId: problem };
}

async function read(store: Store, person: SignedIn, query: Query) {
  const { found, next } = await store.judgementSearch.search(searchOf(person, query));
  return { rows: found.map(toJudgementRow), next: next === null ? null : String(next) };
}

/** /dashboard/api/judgements: lists judgements, and returns a judgement or one of its tests. */
export const judgementRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/judgements",
    session: "member",
    query: judgementSearch,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query }): Promise<Judgements> => {
        const { rows, next } = await read(store, person, query);
        return { judgements: rows, next, mark: markOf(rows) };
      },
  }),
  ...listRoutes({
    path: "/judgements",
    schema: judgementSearch,
    read,
    readOne: async (store, { accountIds }, id) =>
      (await store.judgementSearch.search({ id, accountIds, max: 1 })).found.map(toJudgementRow)[0],
    count: (store, person, query) => store.judgementSearch.count(searchOf(person, query)),
  }),
  dashboardRoute({
    method: "get",
    path: "/judgements/{id}",
    session: "member",
    handler:
      ({ dependencies: { store, languages }, answers }) =>
      async ({ request, reply, owner }) => {
        const read = await readOwn(store, answers, request, reply);
        return answers.send(owner, reply, judgementDetailOf(read, languages));
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/judgements/{id}/tests/{test}",
    session: "member",
    handler:
      ({ dependencies: { store }, answers }) =>
      async ({ request, reply, owner, path }) => {
        const found = await findOwn(store, request);
        const test = Number(/^\d{1,4}$/.exec(path.test)?.[0] ?? found.states.length);
        if (test >= found.states.length) throw clientError("notFound", []);
        await noteReading(store, request, "judgement.read", found);
        const admit = answers.admitFor(owner, request, reply);
        await admit(CONTENTS_BYTES);
        const contents = await store.judgementSearch.readContents(found.id, test, SHOWN_BYTES);
        const run = await store.judgementSearch.runOf(found.id, test);
        const submission = run === undefined ? run : await store.submissions.get(run, found.account.id, admit);
        return answers.send(owner, reply, testDetailOf(contents, submission));
      },
  }),
];

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
