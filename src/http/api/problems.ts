import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { FoundProblem, Problem, ProblemVersion } from "../../store/problems/types.ts";
import { named } from "../named-schemas.ts";
import { type Call, route, type Services } from "../route.ts";
import { count, next, time } from "./fields.ts";
import { ALLOW_FAULTS, PACKAGE_NAME, TIME_LIMIT } from "./import-problem.ts";
import { PAGE, PROBLEM_ID, pageOf } from "./parameters.ts";

const versionFields = {
  version: z.int().min(1),
  tests: count,
  bytes: count.describe("Size of all inputs and answers"),
  limits: z
    .strictObject({ cpu_time_secs: z.number().nullable(), memory_bytes: count.nullable() })
    .describe("Limits of each test. If a limit is null, that of the profile holds"),
  faults: z
    .array(z.string())
    .describe(
      "What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE",
    ),
  created_at: time,
};
const version = z.strictObject(versionFields);
const problemFields = {
  id: z.uuid().describe("Id of the problem"),
  name: z.string().describe("Name of the problem, unique in the account"),
  title: z.string(),
  ...versionFields,
  updated_at: time,
};
const problemBody = named(
  "Problem",
  z.strictObject({
    ...problemFields,
    versions: z.array(version).describe("All versions that are stored, newest first"),
  }),
);

/** @throws ClientError problemNotFound, also for a problem of another account. */
async function find(
  { caller, path: { id } }: Call<{ readonly id: string }>,
  { dependencies: { store } }: Services,
): Promise<Problem> {
  const problem = await store.problems.get(id, [caller.accountId]);
  if (!problem) throw clientError("problemNotFound", []);
  return problem;
}

export const importProblem = route({
  id: "importProblem",
  method: "post",
  path: "/api/problems",
  summary: "Import a problem",
  description:
    "Imports a problem package, sent as a ZIP archive in the Kattis formats `legacy` and `2025-09`, or in the format of DMOJ, Polygon or CMS. A package whose " +
    "programs make tests is refused: the command `assay problems import` runs such programs. The package " +
    "becomes the current version of the problem that `name` names. Importing the same content again changes nothing. An import " +
    "counts against the rate limit as one request for each 16 MiB of its unpacked files. If its tests together are larger than " +
    "these files, because several tests use the same file, the size of the tests counts instead.",
  parameters: {
    query: {
      name: {
        description:
          "Name of the problem. By default, the name of the directory in the archive that contains all files",
        schema: PACKAGE_NAME.optional(),
      },
      time_limit: {
        description:
          "Time limit in seconds of CPU time, which replaces that of the package. It is required if the package has none",
        schema: TIME_LIMIT.optional(),
      },
      allow_faults: {
        description:
          "Whether a package whose structure can be read, but whose programs or their settings have faults, becomes a faulty version. By default, it is refused",
        schema: ALLOW_FAULTS.optional(),
      },
    },
  },
  body: { media: "application/zip" },
  successes: {
    200: {
      description: "Nothing changed: the current version has the same content",
      body: problemBody,
      location: true,
    },
    201: { description: "The new version", body: problemBody, location: true },
  },
  errors: ["invalidPackage", "problemsFull", "queueFull", "problemNotFound"],
  config: { archive: true, large: true },
  handler:
    ({ dependencies: { store }, imports }) =>
    async ({ request, reply, caller, query }) => {
      const { name, time_limit: timeLimitSecs, allow_faults } = query;
      const options = { name, timeLimitSecs, verify: false, allowFaults: allow_faults === "true" };
      const put = await imports.run(request, reply, { options, caller: async () => caller, actor: null });
      const problem = await store.problems.get(put.id, [caller.accountId]);
      if (!problem) throw clientError("problemNotFound", []);
      reply.code(put.isNew ? 201 : 200).header("location", `/api/problems/${put.id}`);
      return toProblem(problem);
    },
});

export const problems = route({
  id: "problems",
  method: "get",
  path: "/api/problems",
  summary: "List problems",
  description: "Lists the account's problems, newest first.",
  parameters: { query: PAGE },
  successes: {
    200: {
      description: "A page of problems",
      body: named("Problems", z.strictObject({ problems: z.array(z.strictObject(problemFields)), next })),
    },
  },
  handler:
    ({ dependencies: { store } }) =>
    async ({ caller, query }) => {
      const { before, max } = pageOf(query);
      const found = await store.problems.list([caller.accountId], max + 1, before);
      const last = found.length > max ? found[max - 1] : undefined;
      return { problems: found.slice(0, max).map(toSummary), next: last ? String(last.seq) : null };
    },
});

export const problem = route({
  id: "problem",
  method: "get",
  path: "/api/problems/{id}",
  summary: "Get a problem",
  description: "Returns the problem with its versions, newest first.",
  parameters: { path: { id: PROBLEM_ID } },
  successes: { 200: { description: "The problem", body: problemBody } },
  handler: (services) => async (call) => toProblem(await find(call, services)),
});

export const deleteProblem = route({
  id: "deleteProblem",
  method: "delete",
  path: "/api/problems/{id}",
  summary: "Delete a problem",
  description: "Deletes a problem. Its judgements remain until they expire, and can be judged again.",
  parameters: { path: { id: PROBLEM_ID } },
  successes: { 200: { description: "The problem before its deletion", body: problemBody } },
  config: { bodyless: true },
  handler: (services) => async (call) => {
    const problem = await find(call, services);
    const isDeleted = await services.dependencies.store.problems.delete(problem.id, call.caller.accountId, null);
    if (!isDeleted) throw clientError("problemNotFound", []);
    return toProblem(problem);
  },
});

const iso = (ms: number) => new Date(ms).toISOString();

function toVersion({ number, tests, bytes, cpuSecs, memoryBytes, faults, createdAtMs }: ProblemVersion) {
  const limits = { cpu_time_secs: cpuSecs, memory_bytes: memoryBytes };
  return { version: number, tests, bytes, limits, faults: [...faults], created_at: iso(createdAtMs) };
}

function toSummary({ id, name, title, current, createdAtMs, updatedAtMs }: FoundProblem) {
  const { created_at: _, ...version } = toVersion(current);
  return { id, name, title, ...version, created_at: iso(createdAtMs), updated_at: iso(updatedAtMs) };
}

function toProblem(problem: Problem) {
  return { ...toSummary(problem), versions: problem.versions.map(toVersion) };
}
