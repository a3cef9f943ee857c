import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Readiness } from "../../domain/readiness.ts";
import { named } from "../named-schemas.ts";
import { route } from "../route.ts";
import { count } from "./fields.ts";

const check = named("Check", z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() }));
const enforcement = z.enum(["strict", "none"]).describe("`strict` if a recent self-test proved full isolation");
const healthBody = named(
  "Health",
  z.strictObject({
    status: z.enum(["ok", "degraded"]),
    enforcement_mode: enforcement,
    workers: count.describe("Number of submissions that can run at the same time"),
    queue_depth: count.describe("Number of pending submissions of all keys"),
  }),
);
const readyBody = named(
  "Ready",
  z.strictObject({
    status: z.literal("ready"),
    enforcement_mode: enforcement,
    cgroup_backend: z.enum(["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]).nullable(),
    checks: z.array(check),
  }),
);
/** The body of the error `notReady`. */
named("NotReady", z.strictObject({ error: z.string(), status: z.literal("not_ready"), checks: z.array(check) }));

export const health = route({
  id: "health",
  method: "get",
  path: "/api/health",
  summary: "Read the load",
  description:
    "Returns how many submissions can run at the same time (`workers`), and how many are pending (`queue_depth`). A client can " +
    "send fewer requests while many are pending.",
  successes: { 200: { description: "The service is healthy or degraded", body: healthBody } },
  handler:
    ({ dependencies: { store, workers } }) =>
    async () => {
      const [readiness, depth] = await Promise.all([workers.readiness(), store.submissions.depth()]);
      return {
        status: readiness.ready ? "ok" : "degraded",
        enforcement_mode: enforcementMode(readiness),
        workers: workers.capacity(),
        queue_depth: depth,
      };
    },
});

export const ready = route({
  id: "ready",
  method: "get",
  path: "/api/health/ready",
  summary: "Check readiness",
  description: "Returns 200 only if a recent run in a real sandbox proved every control.",
  successes: { 200: { description: "The service is ready", body: readyBody } },
  errors: ["notReady"],
  handler:
    ({ dependencies: { workers } }) =>
    async () =>
      readinessBody(await workers.readiness()),
});

/**
 * The body of the response of a service that is ready. It reports `strict` and `ready` only while a worker has a recent proof
 * (GLOSSARY.md).
 * @param forOperator whether `detail` has the full text of a platform fault, which can contain paths of the host.
 * @throws ClientError notReady, with the checks, if the service is not ready.
 */
export function readinessBody(readiness: Readiness, forOperator = false): z.output<typeof readyBody> {
  const checks = readiness.checks.map(({ name, ok, detail, fault }) => ({
    name,
    ok,
    detail: (forOperator && fault) || detail,
  }));
  if (!readiness.ready) throw clientError("notReady", [], { fields: { status: "not_ready", checks } });
  return {
    status: "ready",
    enforcement_mode: enforcementMode(readiness),
    cgroup_backend: readiness.cgroupBackend,
    checks,
  };
}

function enforcementMode({ ready }: Readiness): "strict" | "none" {
  return ready ? "strict" : "none";
}
