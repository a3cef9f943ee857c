import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { FoundProblem, Problem, ProblemVersion } from "../../store/problems/types.ts";
import { callerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { importQuery, type ProblemImports } from "./import-problem.ts";
import { listFields, parseList } from "./submissions.ts";

/** Query of GET /api/problems. */
export const problemsQuery = z.strictObject({ before: listFields.before, limit: listFields.limit });

/** The endpoints of problems, for those of the caller's account. An id of another account gets the same response as an unknown id. */
export function problemRoutes(server: FastifyInstance, dependencies: Dependencies, imports: ProblemImports): void {
  const { problems } = dependencies.store;

  const find = async (request: FastifyRequest): Promise<Problem> => {
    const id = (request.params as { id: string }).id.toLowerCase();
    const problem = await problems.get(id, [callerOf(request).accountId]);
    if (!problem) throw clientError("problemNotFound", []);
    return problem;
  };

  server.post("/api/problems", { config: { archive: true, large: true } }, async (request, reply) => {
    const caller = callerOf(request);
    const options = () => parseImport(request.query);
    const put = await imports.run(request, reply, { options, caller: async () => caller, actor: null });
    const problem = await problems.get(put.id, [caller.accountId]);
    if (!problem) throw clientError("problemNotFound", []);
    reply.code(put.isNew ? 201 : 200).header("location", `/api/problems/${put.id}`);
    return toProblem(problem);
  });

  server.get("/api/problems", async (request) => {
    const { before, max } = parseList(problemsQuery, request.query);
    const found = await problems.list([callerOf(request).accountId], max + 1, before);
    const last = found.length > max ? found[max - 1] : undefined;
    return { problems: found.slice(0, max).map(toSummary), next: last ? String(last.seq) : null };
  });

  server.get("/api/problems/:id", async (request) => toProblem(await find(request)));

  server.delete("/api/problems/:id", { config: { bodyless: true } }, async (request) => {
    const problem = await find(request);
    if (!(await problems.delete(problem.id, callerOf(request).accountId, null)))
      throw clientError("problemNotFound", []);
    return toProblem(problem);
  });
}

function parseImport(query: unknown): z.output<typeof importQuery> {
  const parsed = importQuery.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw clientError("invalidRequest", [String(issue?.path[0]), issue?.message ?? ""]);
}

const iso = (ms: number) => new Date(ms).toISOString();

function toVersion({ number, tests, bytes, cpuSecs, memoryBytes, createdAtMs }: ProblemVersion) {
  const limits = { cpu_time_secs: cpuSecs, memory_bytes: memoryBytes };
  return { version: number, tests, bytes, limits, created_at: iso(createdAtMs) };
}

function toSummary({ id, name, title, current, createdAtMs, updatedAtMs }: FoundProblem) {
  const { created_at: _, ...version } = toVersion(current);
  return { id, name, title, ...version, created_at: iso(createdAtMs), updated_at: iso(updatedAtMs) };
}

function toProblem(problem: Problem) {
  return { ...toSummary(problem), versions: problem.versions.map(toVersion) };
}
