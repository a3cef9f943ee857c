import { z } from "zod";
import { clientError, type ErrorCode } from "../../../domain/error.ts";
import type { SandboxHandle } from "../../../domain/sandboxes/host.ts";
import { SANDBOX_STATES, type Sandbox } from "../../../domain/sandboxes/sandbox.ts";
import { toSandboxRecord } from "../../../domain/sandboxes/sandbox-record.ts";
import { isStillValid } from "../../access/auth.ts";
import { type Call, route, type Services } from "../../route.ts";
import { IDEMPOTENCY_KEY, PAGE, pageOf, SANDBOX_ID } from "../parameters.ts";
import {
  changeBody,
  createBody,
  metricsBody,
  POLICY_VALUES,
  sandboxBody,
  sandboxesBody,
  toLastMetrics,
  toMetrics,
} from "./bodies.ts";
import { checkAllowed, ofSandbox, refusing } from "./of-sandbox.ts";
import { SANDBOX_ERRORS } from "./refused.ts";
import { CREATE_ERRORS, checked, checkMetadata, toChange, toSandboxRequest } from "./requests.ts";

export const createSandbox = route({
  id: "createSandbox",
  method: "post",
  path: "/api/sandboxes",
  summary: "Create a sandbox",
  description:
    "Creates a sandbox: a box with files and processes that stay between executions. The response is sent when it runs. It ends when a client deletes it, " +
    "and after its lifetime or its idle time. The key must allow the profile `agent`. With `from`, it begins with the files of a snapshot. A repeated request with the same Idempotency-Key gets the same sandbox.",
  parameters: { headers: { "Idempotency-Key": IDEMPOTENCY_KEY } },
  body: createBody,
  successes: { 201: { description: "The sandbox, which runs", body: sandboxBody, location: true } },
  errors: [
    ...CREATE_ERRORS,
    "profileForbidden",
    "sandboxesOff",
    "sandboxCpus",
    "sandboxDisk",
    "networkOff",
    "networkForbidden",
    "sandboxQuota",
    "sandboxesFull",
    "notUnicode",
    "snapshotNotFound",
    "snapshotElsewhere",
    "snapshotDamaged",
    "snapshotTooLarge",
    "snapshotsFull",
  ],
  config: { values: POLICY_VALUES },
  handler: (services) => async (call) => {
    const { request, reply, caller, headers } = call;
    checkAllowed(caller, services);
    const wanted = await toSandboxRequest(request.body, caller, services.dependencies);
    request.forgetBody?.();
    const sandbox = await refusing(() =>
      services.dependencies.sandboxes.create(wanted, caller, headers["Idempotency-Key"] ?? null),
    );
    reply.code(201).header("location", `/api/sandboxes/${sandbox.id}`);
    return toSandboxRecord(sandbox);
  },
});

/** The body of a request can have taken half a minute to arrive. @throws ClientError unauthorized. */
export async function checkStillValid({ request }: Pick<Call, "request">, { dependencies }: Services): Promise<void> {
  if (!(await isStillValid(request, dependencies.store.keys))) throw clientError("unauthorized", []);
}

/** The metadata of a filter, written like a query: `task=42&user=7`. */
const METADATA = z.string().max(4_096).optional();

export const sandboxes = route({
  id: "sandboxes",
  method: "get",
  path: "/api/sandboxes",
  summary: "List sandboxes",
  description:
    "Lists the account's sandboxes, newest first, also those that have ended. A page can be short although there is a next one.",
  parameters: {
    query: {
      state: { description: "Lists only sandboxes in this state", schema: z.enum(SANDBOX_STATES).optional() },
      metadata: {
        description:
          "Lists only sandboxes with these metadata, written like a query and then percent-encoded: `task%3D42%26user%3D7`",
        schema: METADATA,
      },
      ...PAGE,
    },
  },
  successes: { 200: { description: "A page of sandboxes", body: sandboxesBody } },
  errors: ["profileForbidden", "sandboxesOff", "noRoom"],
  handler: (services) => async (call) => {
    const { caller, query } = call;
    checkAllowed(caller, services);
    const { before, max } = pageOf(query);
    const metadata = checkMetadata(Object.fromEntries(new URLSearchParams(query.metadata)));
    const which = { state: query.state, metadata, before, max };
    const page = await services.dependencies.store.sandboxes.list(caller.accountId, which);
    const listed = {
      sandboxes: page.sandboxes.map(toSandboxRecord),
      next: page.next === null ? null : String(page.next),
    };
    return await services.answers.send(call.owner, call.reply, listed);
  },
});

export const sandbox = route({
  id: "sandbox",
  method: "get",
  path: "/api/sandboxes/{id}",
  summary: "Get a sandbox",
  description: "Returns a sandbox, also after its end. This does not count as a use of the sandbox.",
  parameters: { path: { id: SANDBOX_ID } },
  successes: { 200: { description: "The sandbox", body: sandboxBody } },
  errors: ["profileForbidden", "sandboxesOff"],
  config: { ofSandbox: true },
  handler: (services) => async (call) => toSandboxRecord(await stored(call, services)),
});

/** @throws ClientError sandboxNotFound, also for a sandbox of another account. */
export async function stored(
  { caller, path: { id } }: Pick<Call<{ readonly id: string }>, "caller" | "path">,
  services: Pick<Services, "dependencies">,
) {
  checkAllowed(caller, services);
  const found = await services.dependencies.store.sandboxes.get(id, caller.accountId);
  if (!found) throw clientError("sandboxNotFound", []);
  return found;
}

export const changeSandbox = route({
  id: "changeSandbox",
  method: "patch",
  path: "/api/sandboxes/{id}",
  summary: "Change a sandbox",
  description:
    "Changes the lifetime, the idle time or the metadata. What the body does not have stays. The lifetime counts from the start of the sandbox; `metadata` " +
    "replaces all metadata.",
  parameters: { path: { id: SANDBOX_ID } },
  body: changeBody,
  successes: { 200: { description: "The sandbox after the change", body: sandboxBody } },
  errors: [...SANDBOX_ERRORS, ...CREATE_ERRORS],
  config: { ofSandbox: true },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async (handle) => {
      const change = toChange(checked(changeBody, call.request.body));
      await checkStillValid(call, services);
      return toSandboxRecord(await handle.change(change));
    }),
});

export const endSandbox = route({
  id: "endSandbox",
  method: "delete",
  path: "/api/sandboxes/{id}",
  summary: "End a sandbox",
  description:
    "Kills all programs of a sandbox and removes its files. Its records remain, with the evidence that nothing of it is left. A sandbox that has ended does " +
    "not change.",
  parameters: { path: { id: SANDBOX_ID } },
  successes: { 200: { description: "The sandbox after its end", body: sandboxBody } },
  errors: ["profileForbidden", "sandboxesOff", "sandboxElsewhere", "sandboxUnreachable"],
  config: { ofSandbox: true, bodyless: true },
  handler: (services) => async (call) =>
    await unlessEnded(
      call,
      services,
      async (ended) => toSandboxRecord(ended),
      async (handle) => toSandboxRecord(await handle.end()),
    ),
});

/**
 * Handles a request that is answered also after the end of the sandbox.
 * @param ofEnded then makes the answer. If the sandbox ends only now, it also gets the refusal of the request; its end may not be stored yet.
 * @throws ClientError sandboxNotFound, also for a sandbox of another account.
 */
export async function unlessEnded<T>(
  call: Call<{ readonly id: string }>,
  services: Services,
  ofEnded: (ended: Sandbox, refusal?: unknown) => Promise<T>,
  ofLiving: (handle: SandboxHandle) => Promise<T>,
): Promise<T> {
  const known = await stored(call, services);
  if (known.state === "ended") return await ofEnded(known);
  try {
    return await ofSandbox(call, services, ofLiving);
  } catch (error) {
    const { code } = error as { code?: ErrorCode };
    if (code !== "sandboxEnded") throw error;
    return await ofEnded(await stored(call, services), error);
  }
}

export const pauseSandbox = route({
  id: "pauseSandbox",
  method: "post",
  path: "/api/sandboxes/{id}/pause",
  summary: "Pause a sandbox",
  description:
    "Freezes all programs of a sandbox. They use no CPU time, and their clocks and that of the idle time stand still; the lifetime goes on. Until it is " +
    "resumed, it takes neither executions nor requests for files. A paused sandbox does not change.",
  parameters: { path: { id: SANDBOX_ID } },
  successes: { 200: { description: "The paused sandbox", body: sandboxBody } },
  errors: SANDBOX_ERRORS,
  config: { ofSandbox: true, bodyless: true },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async (handle) => toSandboxRecord(await handle.pause())),
});

export const resumeSandbox = route({
  id: "resumeSandbox",
  method: "post",
  path: "/api/sandboxes/{id}/resume",
  summary: "Resume a sandbox",
  description: "Continues all programs of a paused sandbox. A sandbox that runs does not change.",
  parameters: { path: { id: SANDBOX_ID } },
  successes: { 200: { description: "The sandbox, which runs", body: sandboxBody } },
  errors: SANDBOX_ERRORS,
  config: { ofSandbox: true, bodyless: true },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async (handle) => toSandboxRecord(await handle.resume())),
});

export const sandboxMetrics = route({
  id: "sandboxMetrics",
  method: "get",
  path: "/api/sandboxes/{id}/metrics",
  summary: "Read what a sandbox uses",
  description:
    "Returns memory, CPU time, processes and disk of a sandbox now. With `samples=true`, it also has what the sandbox used over its life: while an execution " +
    "runs, it is measured every 5 s or less often, and a long life has fewer samples in the same time. After the end, the stored samples say what it used; " +
    "there are none if its machine was lost.",
  parameters: {
    path: { id: SANDBOX_ID },
    query: {
      samples: {
        description: "With `true`, the response has what the sandbox used over its life",
        schema: z.enum(["true", "false"]).default("false"),
      },
    },
  },
  successes: { 200: { description: "What it uses", body: metricsBody } },
  errors: SANDBOX_ERRORS,
  config: { ofSandbox: true },
  handler: (services) => async (call) => {
    const isShown = call.query.samples === "true";
    const ofEnded = async ({ state }: Sandbox, refusal?: unknown) => {
      if (state !== "ended") throw refusal;
      const { store } = services.dependencies;
      return toLastMetrics(await store.sandboxes.usage(call.path.id, call.caller.accountId), isShown);
    };
    return await unlessEnded(call, services, ofEnded, async (handle) => {
      const measured = await handle.measure();
      return toMetrics(measured, isShown ? await handle.usage() : null);
    });
  },
});
