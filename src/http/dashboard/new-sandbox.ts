import { z } from "zod";
import { AdminError } from "../../admin/error.ts";
import { clientError } from "../../domain/error.ts";
import {
  DEFAULT_DISK_BYTES,
  DISK_SIZES,
  SANDBOX_BOUNDS,
  SANDBOX_LIMITS,
  SandboxRefused,
} from "../../domain/sandboxes/sandbox.ts";
import type { Caller } from "../../domain/submission.ts";
import type { Store } from "../../store/store.ts";
import { countRequests } from "../access/rate-limit.ts";
import { POLICY_VALUES } from "../api/sandboxes/bodies.ts";
import { checkAllowed, refusing } from "../api/sandboxes/of-sandbox.ts";
import { toSandboxRequest } from "../api/sandboxes/requests.ts";
import type { CreatedSandbox, SandboxOffer } from "./api/sandboxes.ts";
import { idText, ownKey } from "./authorize.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { noteSandboxChange } from "./sandboxes.ts";
import type { SignedIn } from "./session.ts";

/** The key, and the fields of a client's request, which are checked like those of a client. */
const newSandbox = z.looseObject({ keyId: idText });

/**
 * POST /dashboard/api/sandboxes: creates a sandbox with an API key of an account of the person, which must be live and allow the profile
 * `agent`. The checks, rate limit and quotas are those of a client with this key, so that a person gets nothing that no key has.
 */
export const newSandboxRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/sandboxes/offer",
    session: "member",
    handler:
      ({ dependencies: { sandboxes } }) =>
      async (): Promise<SandboxOffer> => {
        const { lifetimeSecs, idleSecs } = SANDBOX_BOUNDS;
        const { memoryBytes, diskBytes } = SANDBOX_LIMITS;
        const diskSizes = DISK_SIZES.filter((size) => size <= (sandboxes.capacity?.diskBytes ?? 0));
        const defaultDiskSize = Math.min(DEFAULT_DISK_BYTES, diskSizes.at(-1) ?? DEFAULT_DISK_BYTES);
        const network = sandboxes.capacity?.network ?? false;
        return { lifetimeSecs, idleSecs, memoryBytes, diskBytes, diskSizes, defaultDiskSize, network };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/sandboxes",
    session: "member",
    body: newSandbox,
    config: { values: POLICY_VALUES },
    handler:
      (services) =>
      async ({ reply, person, actor, body: { keyId, ...fields } }): Promise<CreatedSandbox> => {
        const { store, sandboxes } = services.dependencies;
        const caller = await callerOf(store, person, keyId);
        checkAllowed(caller, services);
        await countRequests(caller, services.dependencies);
        const wanted = await toSandboxRequest(fields, caller, services.dependencies);
        await store.keys.touch(caller.keyId);
        const sandbox = await refusing(() => withLiveKey(() => sandboxes.create(wanted, caller, null)));
        const { from } = wanted;
        const detail = { key: caller.keyId, ...(from !== null && { from }) };
        try {
          await noteSandboxChange(store, actor, sandbox, { action: "sandbox.create", detail });
        } catch (error) {
          // The id is known only now. A sandbox without an entry must not live.
          await (await sandboxes.find(sandbox.id, sandbox.accountId)).end();
          throw error;
        }
        reply.code(201);
        return { id: sandbox.id };
      },
  }),
];

/** @throws ClientError notFound, accountSuspended. @throws AdminError if the key is not live. */
async function callerOf(store: Store, person: SignedIn, keyId: string): Promise<Caller> {
  const { hash } = await ownKey(store, person, keyId);
  const found = await store.keys.findCaller(hash);
  if (!found) throw notLive();
  if (found.suspended) throw clientError("accountSuspended", []);
  return found.caller;
}

/** Does something for which a key must be live. To the session of a person, the response for a client with such a key would say the wrong thing. */
export async function withLiveKey<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw SandboxRefused.is(error, "keyRevoked") ? notLive() : error;
  }
}

function notLive(): AdminError {
  return new AdminError("the API key was revoked or has expired");
}
