import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { EXECUTION_BOUNDS, type ExecutionRequest, type TerminalSize } from "../../domain/sandboxes/execution.ts";
import { attach } from "../api/sandboxes/attach.ts";
import { refusing, useMeanwhile } from "../api/sandboxes/of-sandbox.ts";
import type { StartedTerminal } from "./api/sandboxes.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { toExecutionRow } from "./sandbox-detail.ts";
import { followedOf, mayStillSee } from "./sandbox-live.ts";
import { inOwn, noteSandboxChange, readExecution } from "./sandboxes.ts";

const cells = z.int().min(EXECUTION_BOUNDS.terminal.least).max(EXECUTION_BOUNDS.terminal.most);
const terminalBody = z.strictObject({ rows: cells, cols: cells });
const attachQuery = z.strictObject({
  stdout: z
    .string()
    .regex(/^\d{1,15}$/)
    .default("0"),
});

/** A login shell, as `assay sandbox shell` starts it. */
function shell(terminal: TerminalSize): ExecutionRequest {
  return {
    kind: "argv",
    argv: ["/bin/bash", "-l"],
    stdin: Buffer.alloc(0),
    openInput: false,
    cwd: null,
    env: { TERM: "xterm-256color" },
    limits: {},
    background: false,
    terminal,
  };
}

/**
 * /dashboard/api/sandboxes/:id/terminals and …/executions/:number/attach: terminals for people. A terminal is an execution like any other,
 * with the key of the sandbox in its record; who started it is in the audit trail.
 */
export const sandboxTerminalRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "post",
    path: "/sandboxes/{id}/terminals",
    session: "member",
    body: terminalBody,
    handler:
      (services) =>
      async ({ request, reply, actor, body }): Promise<StartedTerminal> =>
        await inOwn(services, request, async (handle) => {
          useMeanwhile(handle, reply);
          const { store } = services.dependencies;
          await noteSandboxChange(store, actor, handle.sandbox, { action: "sandbox.start-terminal" });
          const { number } = await handle.execute(shell(body));
          return { number };
        }),
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/executions/{number}/attach",
    session: "member",
    query: attachQuery,
    handler:
      (services) =>
      async ({ request, reply, person, query }) => {
        const { store, sandboxes } = services.dependencies;
        const stored = await readExecution(services, request, reply);
        const { sandboxId, accountId } = stored;
        const followed = await followedOf(services, stored);
        // The person can give input, so this is a use of the sandbox, and an entry says who did, whoever started the execution.
        if (followed.running) {
          await refusing(async () => useMeanwhile(await sandboxes.find(sandboxId, accountId), reply));
          const who = { actor: person.email, address: request.ip };
          await store.audit.noteReading({ action: "sandbox.attach", subject: sandboxId, accountId, ...who });
        }
        await attach(request, reply, services, {
          followed,
          from: { stdout: Number(query.stdout), stderr: 0 },
          isAllowed: async () => {
            if (await mayStillSee(store, request, accountId)) return true;
            throw clientError("signInNeeded", []);
          },
          endOf: async (execution) => ({ type: "ended", execution: toExecutionRow(execution) }),
        });
        return reply;
      },
  }),
];
