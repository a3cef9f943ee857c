import type { FastifyReply } from "fastify";
import { clientError } from "../../../domain/error.ts";
import type { SandboxHandle } from "../../../domain/sandboxes/host.ts";
import type { Caller } from "../../../domain/submission.ts";
import { disconnected } from "../../responses/client-disconnect.ts";
import type { Call, Services } from "../../route.ts";
import { toClientError } from "./refused.ts";

/** The profile that a key must have for sandboxes. */
const PROFILE = "agent";

type Dependent = Pick<Services, "dependencies">;

export function mayHaveSandboxes({ profiles }: Caller, { sandboxes }: Dependent["dependencies"]): boolean {
  return profiles.includes(PROFILE) && sandboxes.capacity !== null;
}

/** @throws ClientError profileForbidden, or sandboxesOff. */
export function checkAllowed({ profiles }: Caller, { dependencies: { sandboxes } }: Dependent): void {
  if (!profiles.includes(PROFILE)) throw clientError("profileForbidden", [PROFILE]);
  if (sandboxes.capacity === null) throw clientError("sandboxesOff", []);
}

/** Calls a function of a sandbox. @throws ClientError for a reason why the sandbox refuses. */
export async function refusing<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toClientError(error);
  }
}

type OfSandbox = Pick<Call<{ readonly id: string }>, "caller" | "path" | "reply">;

/**
 * Handles a request to a sandbox of the caller that lives. The sandbox is in use until the response has ended, so it is not idle.
 * @throws ClientError sandboxNotFound, also for a sandbox of another account.
 */
export async function ofSandbox<C extends OfSandbox, T>(
  call: C,
  services: Dependent,
  run: (handle: SandboxHandle) => Promise<T>,
): Promise<T> {
  const { caller, path, reply } = call;
  checkAllowed(caller, services);
  return await refusing(async () => {
    const handle = await services.dependencies.sandboxes.find(path.id, caller.accountId);
    useMeanwhile(handle, reply);
    return await run(handle);
  });
}

/** Keeps a sandbox in use until the response has ended. */
export function useMeanwhile(handle: SandboxHandle, reply: FastifyReply): void {
  const end = handle.use();
  const gone = disconnected(reply);
  if (gone.aborted) end();
  else gone.addEventListener("abort", end, { once: true });
}
