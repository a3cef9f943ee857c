import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../domain/error.ts";
import { PackageError } from "../problems/files.ts";
import { PROBLEM_NAME } from "../problems/import.ts";
import { importInThread, type ThreadImport } from "../problems/import-in-thread.ts";
import type { FoundProblem, Problem, ProblemBounds, ProblemVersion, PutProblem } from "../store/problems/types.ts";
import { wrongMedia } from "./body.ts";
import { callerOf } from "./caller.ts";
import { Semaphore } from "./dashboard/semaphore.ts";
import type { Dependencies } from "./dependencies.ts";
import { disconnected } from "./gone.ts";
import { KeyedMutex } from "./keyed-mutex.ts";
import type { LongAnswers } from "./long-answers.ts";
import { ownerOf } from "./owner.ts";
import { countRequests } from "./rate-limit.ts";
import { listFields, parseList } from "./submissions.ts";

/** Bounds of an account for imports by requests; the command `assay problems import` has no bound of its own. */
export const PROBLEM_BOUNDS: ProblemBounds = { problems: 500, bytes: 4_294_967_296 };
/** Of all files of a package that a request imports; its archive is bounded as a large body. */
export const MAX_IMPORT_BYTES = 268_435_456;
/** Bytes of tests that count against the rate limit like one request. */
const BYTES_PER_REQUEST = 16_777_216;
/** Imports at the same time; an account has one. The others wait, and so do more than this many of an account, as an error. */
const AT_ONCE = 2;
const WAITING = 16;
/** A purge can delete the version before the problem has it. */
const MAX_TRIES = 3;
const MAX_FAULT = 500;

export const importQuery = z.strictObject({
  name: z.string().regex(PROBLEM_NAME, "must be 1 to 64 letters, digits and . _ -").optional(),
  time_limit: z
    .string()
    .regex(/^\d{1,5}(\.\d{1,3})?$/, "must be a number of seconds")
    .optional(),
});

/** Query of GET /api/problems. */
export const problemsQuery = z.strictObject({ before: listFields.before, limit: listFields.limit });

/** The problems of the caller's account. An id of another account gets the same response as an unknown id. */
export function problemRoutes(server: FastifyInstance, dependencies: Dependencies, answers: LongAnswers): void {
  const { problems } = dependencies.store;
  const mine = new KeyedMutex();
  const imports = new Semaphore(AT_ONCE, WAITING);

  const find = async (request: FastifyRequest): Promise<Problem> => {
    const id = (request.params as { id: string }).id.toLowerCase();
    const problem = await problems.get(id, callerOf(request).accountId);
    if (!problem) throw clientError("problemNotFound", []);
    return problem;
  };

  server.post("/api/problems", { config: { archive: true, large: true } }, async (request, reply) => {
    request.holdsBody = true;
    const gone = disconnected(reply);
    try {
      const options = parseImport(request.query);
      const owner = ownerOf(request);
      const archive = request.body;
      if (!Buffer.isBuffer(archive)) throw wrongMedia(request);
      request.body = null;
      const importing = { ...options, languages: dependencies.languages, signal: gone };
      const put = await mine.take(owner, () =>
        imports.run(owner, () =>
          importInThread(archive, MAX_IMPORT_BYTES, importing, (opened) =>
            store(request, reply, opened, dependencies, () => answers.pace.turn(owner)),
          ),
        ),
      );
      const problem = await problems.get(put.id, callerOf(request).accountId);
      if (!problem) throw clientError("problemNotFound", []);
      reply.code(put.isNew ? 201 : 200).header("location", `/api/problems/${put.id}`);
      return toProblem(problem);
    } catch (error) {
      if (gone.aborted) throw clientError("requestTimeout", []); // for the metric: the client has gone
      if (error instanceof PackageError) throw clientError("invalidPackage", [error.message.slice(0, MAX_FAULT)]);
      throw error;
    } finally {
      request.forgetBody?.();
    }
  });

  server.get("/api/problems", async (request) => {
    const { before, max } = parseList(problemsQuery, request.query);
    const found = await problems.list(callerOf(request).accountId, max + 1, before);
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

type Stored = Extract<PutProblem, { kind: "stored" }>;

/** Stores the tests of a package, then the version of the problem. A client that has gone ends it. */
async function store(
  request: FastifyRequest,
  reply: FastifyReply,
  { importable, read }: ThreadImport,
  dependencies: Dependencies,
  turn: () => Promise<void>,
): Promise<Stored> {
  const { name, title, definition, checker, cpuSecs, memoryBytes } = importable;
  const { judgements, problems } = dependencies.store;
  const { accountId } = callerOf(request);
  const tests = importable.contents.length;
  const bytes = importable.contents.flat().reduce((sum, one) => sum + one.bytes, 0);
  await countRequests(callerOf(request), dependencies, { amount: Math.ceil(bytes / BYTES_PER_REQUEST) - 1 });
  const contents = importable.contents.map((parts, test) =>
    parts.map(({ hash, bytes }, place) => ({ hash, bytes, read: () => read(test, place) })),
  );
  const pause = async () => {
    disconnected(reply).throwIfAborted();
    await turn();
  };
  for (let tries = 1; ; tries++) {
    const versionSeq = await judgements.putVersion({ accountId, definition, checker, contents }, pause);
    const problem = { accountId, name, title, versionSeq, tests, bytes, cpuSecs, memoryBytes };
    const put = await problems.put(problem, PROBLEM_BOUNDS, null);
    if (put.kind === "stored") return put;
    if (put.kind === "full") throw clientError("problemsFull", [PROBLEM_BOUNDS.problems, PROBLEM_BOUNDS.bytes]);
    if (tries === MAX_TRIES) throw new Error("the version of a problem was deleted while it was imported");
  }
}

function parseImport(query: unknown): { readonly name?: string | undefined; readonly timeLimitSecs?: number } {
  const parsed = importQuery.safeParse(query);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw clientError("invalidRequest", [String(issue?.path[0]), issue?.message ?? ""]);
  }
  const { name, time_limit: limit } = parsed.data;
  return { name, ...(limit !== undefined && { timeLimitSecs: Number(limit) }) };
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
