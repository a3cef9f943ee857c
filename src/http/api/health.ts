import type { FastifyInstance } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { Readiness } from "../../domain/readiness.ts";
import type { Dependencies } from "../dependencies.ts";

/** GET /api/health and /api/health/ready. They report `strict` and `ready` only after a recent self-test. */
export function healthRoutes(server: FastifyInstance, { store, workers }: Dependencies): void {
  server.get("/api/health", async () => {
    const [readiness, depth] = await Promise.all([workers.readiness(), store.submissions.depth()]);
    return {
      status: readiness.ready ? "ok" : "degraded",
      enforcement_mode: enforcementMode(readiness),
      workers: workers.capacity(),
      queue_depth: depth,
    };
  });

  server.get("/api/health/ready", async () => readinessBody(await workers.readiness()));
}

/**
 * The body of a ready service.
 * @param forOperator whether to include the full text of platform faults, which can name host paths.
 * @throws ClientError notReady, with the checks, when the service is not ready.
 */
export function readinessBody(readiness: Readiness, forOperator = false) {
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
