import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { ANSWERS_LANGUAGE } from "../../domain/answers.ts";
import { clientError } from "../../domain/error.ts";
import { type Definition, groupScores } from "../../domain/judgement.ts";
import type * as stored from "../../store/problems/types.ts";
import type { Store } from "../../store/store.ts";
import { PACKAGE_NAME, TIME_LIMIT } from "../api/import-problem.ts";
import type { ImportedProblem, ProblemDetail, ProblemList, ProblemRow, ProblemVersion } from "./api/problems.ts";
import { idText, ownAccount } from "./authorize.ts";
import { toChecker } from "./judgement-detail.ts";
import { accountsFor, cursor, listed, nextOf } from "./pagination.ts";
import { chargePlayground } from "./playground.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { personOf } from "./session.ts";

const listQuery = listed.extend({ before: cursor.optional() });
const imported = z.strictObject({
  account: idText,
  name: PACKAGE_NAME.optional(),
  time_limit: TIME_LIMIT.optional(),
  verify: z.literal("true").optional(),
  allow_faults: z.literal("true").optional(),
});

/** /dashboard/api/problems: lists, returns, imports and deletes problems. Members may do all of this in their accounts. */
export const problemRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/problems",
    session: "member",
    query: listQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query: { account, before, limit } }): Promise<ProblemList> => {
        const found = await store.problems.list(accountsFor(person, account), limit + 1, before);
        const shown = found.slice(0, limit);
        return { problems: shown.map(toRow), next: nextOf(shown, found) };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/problems/{id}",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ request }): Promise<ProblemDetail> => {
        const problem = await findOwn(store, request);
        const { id, account, current, versions } = problem;
        const version = await store.problems.versionFor(id, account.id, current.number);
        if (!version) throw clientError("notFound", []);
        const { checker, ...tests } = version.definition;
        return {
          ...toRow(problem),
          checker: toChecker(checker),
          answers: answersOf(tests),
          groups: toGroups(tests),
          versions: versions.map(toVersion),
        };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/problems",
    session: "member",
    query: imported,
    config: { archive: true, large: true },
    handler:
      ({ dependencies, imports }) =>
      async ({
        request,
        reply,
        person,
        actor,
        query: { account, name, time_limit: timeLimitSecs, verify, allow_faults },
      }): Promise<ImportedProblem> => {
        const caller = async () => {
          const { id } = await ownAccount(dependencies.store, person, account);
          return await chargePlayground(dependencies, request, id);
        };
        const options = { name, timeLimitSecs, verify: verify === "true", allowFaults: allow_faults === "true" };
        const { id, version, isNew, verification } = await imports.run(request, reply, { options, caller, actor });
        return { id, version, isNew, verification };
      },
  }),
  dashboardRoute({
    method: "delete",
    path: "/problems/{id}",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ request, reply, actor }) => {
        const { id, account } = await findOwn(store, request);
        if (!(await store.problems.delete(id, account.id, actor))) throw clientError("notFound", []);
        return reply.code(204).send();
      },
  }),
];

/** The problem named by the path. @throws ClientError notFound, also for a problem of another account. */
async function findOwn(store: Store, request: FastifyRequest): Promise<stored.Problem> {
  const { id } = request.params as { id: string };
  const problem = await store.problems.get(id.toLowerCase(), personOf(request).accountIds);
  if (!problem) throw clientError("notFound", []);
  return problem;
}

function toRow({ id, name, title, account, current, createdAtMs, updatedAtMs }: stored.FoundProblem): ProblemRow {
  return {
    ...toVersion(current),
    id,
    name,
    title,
    account,
    createdAt: new Date(createdAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
  };
}

function toVersion({ number, cpuSecs, createdAtMs, ...version }: stored.ProblemVersion): ProblemVersion {
  const cpuMs = cpuSecs === null ? null : Math.round(cpuSecs * 1e3);
  return { ...version, version: number, cpuMs, createdAt: new Date(createdAtMs).toISOString() };
}

function answersOf({ tests }: Pick<Definition, "tests">): ProblemDetail["answers"] {
  const files = tests.flatMap(({ answerFile }) => answerFile ?? []);
  return files.length > 0 ? { language: ANSWERS_LANGUAGE, files } : null;
}

function toGroups({ groups, tests }: Pick<Definition, "groups" | "tests">): ProblemDetail["groups"] {
  const byGroup = Map.groupBy(tests, ({ group }) => group);
  const scores = groupScores(
    { groups, tests },
    tests.map(() => "waiting"),
    [],
  );
  const depends = new Map(groups.map((group) => [group.name, group.depends]));
  return scores.map(({ name, rule, parent, maxScore }) => ({
    ...{ name, rule, parent, depends: depends.get(name) ?? [] },
    points: maxScore,
    tests: (byGroup.get(name) ?? []).map(({ name, points }) => ({ name, points })),
  }));
}
