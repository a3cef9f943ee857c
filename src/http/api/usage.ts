import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Samples } from "../../domain/samples.ts";
import { callerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import type { SCHEMAS } from "../openapi/schemas.ts";

/** GET /api/result/:id/usage: the memory and CPU time during a run, which the record does not contain. The body has at most 12 kB. */
export function usageRoute(server: FastifyInstance, { store }: Dependencies): void {
  server.get("/api/result/:id/usage", async (request): Promise<z.infer<typeof SCHEMAS.Usage>> => {
    const id = (request.params as { id: string }).id.toLowerCase();
    const samples = await store.submissions.samples(id, callerOf(request).accountId);
    if (samples === undefined) throw clientError("submissionNotFound", []);
    request.submissionId = id;
    return { id, usage: samples && toUsage(samples) };
  });
}

function toUsage({ step, atMs, cpuMs, memoryBytes, end, peakBytes, limitBytes }: Samples) {
  return {
    step,
    wall_time_secs: secs(end.atMs),
    cpu_time_secs: secs(end.cpuMs),
    memory_peak_bytes: peakBytes,
    memory_limit_bytes: limitBytes,
    samples: atMs.map((at, i) => ({
      at_secs: secs(at),
      cpu_time_secs: secs(cpuMs[i] ?? 0),
      memory_bytes: memoryBytes[i] ?? 0,
    })),
  };
}

/** Converts milliseconds, which have one decimal place, to seconds with four. */
function secs(ms: number): number {
  return Math.round(ms * 10) / 1e4;
}
