import type { FastifyInstance } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { Readiness } from "../../domain/readiness.ts";
import type { Dependencies } from "../dependencies.ts";

/** GET /api/health and /api/health/ready. They report `strict` and `ready` only while a worker has a recent proof (GLOSSARY.md). */
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
 * The body of the response of a service that is ready.
 * @param forOperator whether `detail` has the full text of a platform fault, which can contain paths of the host.
 * @throws ClientError notReady, with the checks, if the service is not ready.
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
