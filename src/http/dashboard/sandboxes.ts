import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AuditActor } from "../../domain/audit.ts";
import type { SandboxEgressRecord } from "../../domain/egress/egress-record.ts";
import { hasNetwork } from "../../domain/egress/policy.ts";
import { clientError } from "../../domain/error.ts";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import type { SandboxHandle } from "../../domain/sandboxes/host.ts";
import { SANDBOX_STATES, type Sandbox, SandboxRefused } from "../../domain/sandboxes/sandbox.ts";
import type { UsageSample } from "../../domain/sandboxes/usage.ts";
import type { FoundSandbox } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import { ownerOf } from "../access/caller.ts";
import { sendBytes } from "../api/result.ts";
import { changeBody } from "../api/sandboxes/bodies.ts";
import { refusing, useMeanwhile } from "../api/sandboxes/of-sandbox.ts";
import { checkMetadata, toChange } from "../api/sandboxes/requests.ts";
import type { Executions, SandboxDetail, SandboxEgress, SandboxList, UsageSamples } from "./api/sandboxes.ts";
import { idText } from "./authorize.ts";
import { accountsFor, cursor, listed } from "./pagination.ts";
import { type DashboardRoute, type DashboardServices, dashboardRoute } from "./route.ts";
import { toExecutionDetail, toExecutions, toSandboxRow } from "./sandbox-detail.ts";
import { EXECUTIONS, SandboxWatch } from "./sandbox-watch.ts";
import { personOf } from "./session.ts";
import { noteReading } from "./submissions.ts";

const listQuery = listed.extend({
  before: cursor.optional(),
  // The metadata of a sandbox can have 18 KB.
  limit: z.coerce.number().int().min(1).max(50).default(50),
  project: idText.optional(),
  state: z.enum(SANDBOX_STATES).optional(),
  /** Names and values as in a query: `task=42&user=7`. */
  metadata: z.string().max(4_096).optional(),
});
const executionsQuery = z.strictObject({ before: cursor.optional() });
const executionNumber = z.string().regex(/^\d{1,9}$/);
const streamName = z.enum(["stdout", "stderr"]);

const watches = new WeakMap<DashboardServices["dependencies"], SandboxWatch>();

/** The watch that all routes of a server share. */
export function watchOf({ dependencies }: DashboardServices): SandboxWatch {
  const watch = watches.get(dependencies) ?? new SandboxWatch(dependencies);
  watches.set(dependencies, watch);
  return watch;
}

/** /dashboard/api/sandboxes: lists and returns sandboxes and their executions; changes, pauses, resumes and ends sandboxes; kills executions. */
export const sandboxRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/sandboxes",
    session: "member",
    query: listQuery,
    handler:
      ({ dependencies: { store, sandboxes } }) =>
      async ({ person, query: { account, project, state, metadata: pairs, before, limit } }): Promise<SandboxList> => {
        const accountIds = accountsFor(person, account);
        const metadata = checkMetadata(Object.fromEntries(new URLSearchParams(pairs)));
        const which = { accountIds, projectId: project, state, metadata, before, max: limit };
        const { found, next } = await store.sandboxSearch.search(which);
        return {
          sandboxes: found.map(toSandboxRow),
          next: next === null ? null : String(next),
          capacity: sandboxes.capacity?.sandboxes ?? null,
        };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}",
    session: "member",
    handler:
      (services) =>
      async ({ request }): Promise<SandboxDetail> =>
        await watchOf(services).read(await readOwn(services.dependencies.store, request)),
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/samples",
    session: "member",
    handler:
      (services) =>
      async ({ request, reply, owner }) => {
        const { store } = services.dependencies;
        const { sandbox } = await readOwn(store, request);
        const { id, accountId } = sandbox;
        const samples = (await usageOf(services, sandbox)) ?? (await store.sandboxes.usage(id, accountId));
        return services.answers.send(owner, reply, { samples } satisfies UsageSamples);
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/egress",
    session: "member",
    handler:
      (services) =>
      async ({ request, reply, owner }) => {
        const { sandbox } = await readOwn(services.dependencies.store, request);
        const egress = hasNetwork(sandbox.network) ? await egressOf(services, sandbox) : null;
        return services.answers.send(owner, reply, { egress } satisfies SandboxEgress);
      },
  }),
  dashboardRoute({
    method: "patch",
    path: "/sandboxes/{id}",
    session: "member",
    body: changeBody,
    handler:
      (services) =>
      async ({ request, reply, actor, body }): Promise<SandboxDetail> => {
        const { store } = services.dependencies;
        const change = toChange(body);
        const { id } = await inOwn(services, request, async (handle) => {
          useMeanwhile(handle, reply);
          // Metadata can be long and belong to the client, so the entry has only its names.
          const { metadata, ...times } = change;
          const detail = {
            ...Object.fromEntries(Object.entries(times).map(([name, secs]) => [name, String(secs)])),
            ...(metadata && { metadata: Object.keys(metadata).join(", ") }),
          };
          await noteSandboxChange(store, actor, handle.sandbox, { action: "sandbox.change", detail });
          return await handle.change(change);
        });
        return await readAgain(services, request, id);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/sandboxes/{id}/executions/{number}/kill",
    session: "member",
    handler:
      (services) =>
      async ({ request, reply, path, actor, owner }) => {
        const { store } = services.dependencies;
        const number = executionNumber.safeParse(path.number).data;
        if (!number) throw clientError("notFound", []);
        await inOwn(services, request, async (handle) => {
          const running = await handle.execution(Number(number));
          if (!running) return; // it has ended, or there is none: what is stored tells
          const detail = { execution: number };
          await noteSandboxChange(store, actor, handle.sandbox, { action: "sandbox.kill-execution", detail });
          await running.kill();
          await running.ended;
        });
        const execution = await readExecution(services, request, reply);
        watchOf(services).forget(execution.sandboxId);
        return services.answers.send(owner, reply, await executionDetailOf(store, execution));
      },
  }),
  changing("pause", (handle) => handle.sandbox.state !== "paused" && (() => handle.pause())),
  changing("resume", (handle) => handle.sandbox.state === "paused" && (() => handle.resume())),
  changing("end", (handle) => () => handle.end()),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/executions",
    session: "member",
    query: executionsQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ request, query: { before } }): Promise<Executions> => {
        const { sandbox, account } = await readOwn(store, request);
        const page = await store.sandboxes.executions(sandbox.id, account.id, { before, max: EXECUTIONS });
        if (!page) throw clientError("notFound", []);
        return toExecutions(page);
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/executions/{number}",
    session: "member",
    handler:
      (services) =>
      async ({ request, reply, owner }) => {
        const { store } = services.dependencies;
        const execution = await readExecution(services, request, reply);
        return services.answers.send(owner, reply, await executionDetailOf(store, execution));
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/executions/{number}/output/{stream}",
    session: "member",
    handler:
      (services) =>
      async ({ request, reply, path }) => {
        const stream = streamName.safeParse(path.stream).data;
        if (!stream) throw clientError("notFound", []);
        const { sandboxId, number, outcome } = await readExecution(services, request, reply);
        if (!outcome?.output) throw clientError("noOutput", []);
        const name = `${sandboxId}-${number}-${stream}.txt`;
        reply.header("content-disposition", `attachment; filename="${name}"`);
        return sendBytes(services.answers, request, reply, outcome.output[stream]);
      },
  }),
];

/** What a sandbox that lives in this process has used; null for another one. */
async function usageOf(
  { dependencies: { sandboxes } }: DashboardServices,
  { id, accountId, state }: Sandbox,
): Promise<readonly UsageSample[] | null> {
  if (state === "ended") return null;
  try {
    return await (await sandboxes.find(id, accountId)).usage();
  } catch (error) {
    if (error instanceof SandboxRefused) return null; // it has ended, or another process has it
    throw error;
  }
}

/** What a sandbox has reached so far, or until its end; null if nothing is known. */
async function egressOf(
  { dependencies: { store, sandboxes } }: DashboardServices,
  { id, accountId, state }: Sandbox,
): Promise<SandboxEgressRecord | null> {
  if (state !== "ended") {
    try {
      return await (await sandboxes.find(id, accountId)).egress();
    } catch (error) {
      if (!(error instanceof SandboxRefused)) throw error; // it has ended, or another process has it
    }
  }
  return await store.sandboxes.egress(id, accountId);
}

/**
 * A route that changes a sandbox. @param begin returns the change; false if there is nothing to change. */
function changing(
  verb: "pause" | "resume" | "end",
  begin: (handle: SandboxHandle) => (() => Promise<unknown>) | false,
): DashboardRoute {
  return dashboardRoute({
    method: "post",
    path: `/sandboxes/{id}/${verb}`,
    session: "member",
    handler:
      (services) =>
      async ({ request, actor }): Promise<SandboxDetail> => {
        const { store } = services.dependencies;
        const { id } = await inOwn(services, request, async (handle) => {
          const change = begin(handle);
          const { sandbox } = handle;
          if (change) await noteSandboxChange(store, actor, sandbox, { action: `sandbox.${verb}` });
          if (change) await change();
          return sandbox;
        });
        return await readAgain(services, request, id);
      },
  });
}

/** The sandbox after a change. */
async function readAgain(services: DashboardServices, request: FastifyRequest, id: string): Promise<SandboxDetail> {
  const watch = watchOf(services);
  watch.forget(id);
  return await watch.read(await findOwn(services.dependencies.store, request));
}

/**
 * Does something in the sandbox named by the path, which lives in this process.
 * @throws ClientError notFound, or why the sandbox refuses.
 */
export async function inOwn<T>(
  { dependencies: { store, sandboxes } }: DashboardServices,
  request: FastifyRequest,
  act: (handle: SandboxHandle) => Promise<T>,
): Promise<T> {
  const { sandbox } = await findOwn(store, request);
  return await refusing(async () => await act(await sandboxes.find(sandbox.id, sandbox.accountId)));
}

/** Adds the entry of a change to the audit trail. It comes before the change, because the change is not part of a transaction. */
export async function noteSandboxChange(
  store: Store,
  actor: AuditActor,
  { id, accountId }: Pick<Sandbox, "id" | "accountId">,
  change: Pick<Parameters<Store["audit"]["noteChange"]>[0], "action" | "detail">,
): Promise<void> {
  await store.audit.noteChange({ ...change, actor, subject: id, accountId });
}

/** Finds the sandbox named by the path. @throws ClientError notFound, also for a sandbox of another account. */
async function findOwn(store: Store, request: FastifyRequest): Promise<FoundSandbox> {
  const { id } = request.params as { id: string };
  const found = await store.sandboxSearch.get(id.toLowerCase(), personOf(request).accountIds);
  if (!found) throw clientError("notFound", []);
  return found;
}

/** As findOwn(). Before the response, access by an administrator is recorded in the audit trail, because commands can have data. */
export async function readOwn(store: Store, request: FastifyRequest): Promise<FoundSandbox> {
  const found = await findOwn(store, request);
  await noteReading(store, request, "sandbox.read", { id: found.sandbox.id, account: found.account });
  return found;
}

/** The execution named by the path, as the store has it, with its output. @throws ClientError notFound, or noRoom. */
export async function readExecution(
  { dependencies: { store }, answers }: DashboardServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Execution> {
  const { sandbox, account } = await readOwn(store, request);
  const number = executionNumber.safeParse((request.params as { number: string }).number).data;
  const admit = answers.admitFor(ownerOf(request), request, reply);
  const found = number && (await store.sandboxes.execution(sandbox.id, account.id, Number(number), admit));
  if (!found) throw clientError("notFound", []);
  return found;
}

export async function executionDetailOf(store: Store, execution: Execution) {
  const key = await store.keys.get(execution.keyId);
  return toExecutionDetail(execution, { id: execution.keyId, name: key?.name ?? execution.keyId });
}
