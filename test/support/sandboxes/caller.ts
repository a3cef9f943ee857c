import type { ExecutionRequest } from "../../../src/domain/sandboxes/execution.ts";
import {
  SANDBOX_BOUNDS,
  SANDBOX_LIMITS,
  type SandboxLimitName,
  type SandboxRequest,
} from "../../../src/domain/sandboxes/sandbox.ts";
import type { Caller } from "../../../src/domain/submission.ts";

/** The caller of a key that `addKey` made. */
export function callerOf(
  key: { readonly keyId: string; readonly accountId: string },
  projectId: string | null = null,
): Caller {
  return {
    keyId: key.keyId,
    accountId: key.accountId,
    projectId,
    requestsPerMinute: 60,
    concurrency: 10,
    executions: 16,
    profiles: ["judge", "agent"],
    defaultProfile: "agent",
  };
}

/** A request for a sandbox with the default limits. */
export function sandboxRequest(changes: Partial<SandboxRequest> = {}): SandboxRequest {
  const limits = Object.fromEntries(
    Object.entries(SANDBOX_LIMITS).map(([name, limit]) => [name, limit.default]),
  ) as Record<SandboxLimitName, number>;
  return {
    limits: { ...limits, storage: "memory" },
    lifetimeSecs: SANDBOX_BOUNDS.lifetimeSecs.default,
    idleSecs: SANDBOX_BOUNDS.idleSecs.default,
    env: {},
    metadata: {},
    from: null,
    onTimeout: "end",
    network: "none",
    ...changes,
  };
}

/** A request for a shell command. */
export function shellRequest(shell: string, changes: Partial<ExecutionRequest> = {}): ExecutionRequest {
  return {
    kind: "shell",
    shell,
    stdin: Buffer.alloc(0),
    openInput: false,
    cwd: null,
    env: {},
    limits: {},
    background: false,
    terminal: null,
    ...changes,
  };
}
