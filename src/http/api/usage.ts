import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { MAX_SAMPLES, type Samples } from "../../domain/samples.ts";
import { named } from "../named-schemas.ts";
import { route } from "../route.ts";
import { count, submissionId } from "./fields.ts";
import { SUBMISSION_ID } from "./parameters.ts";

const sample = named(
  "UsageSample",
  z.strictObject({
    at_secs: z.number().min(0).describe("Time since the start of the program"),
    cpu_time_secs: z.number().min(0).describe("CPU time used until then"),
    memory_bytes: count.describe("The highest reading since the previous sample"),
  }),
);
const runUsage = named(
  "RunUsage",
  z.strictObject({
    step: z.enum(["compile", "execute"]).describe("`compile` if only the compiler ran"),
    wall_time_secs: z.number().min(0),
    cpu_time_secs: z.number().min(0),
    memory_peak_bytes: count,
    memory_limit_bytes: count,
    samples: z.array(sample).max(MAX_SAMPLES),
  }),
);
export const usageBody = named(
  "Usage",
  z.strictObject({
    id: submissionId,
    usage: runUsage
      .nullable()
      .describe("Null until the run has ended, for a run of less than 30 ms, and if the platform failed"),
  }),
);

/** The memory and CPU time during a run, which the record does not contain. The body has at most 12 kB. */
export const usage = route({
  id: "usage",
  method: "get",
  path: "/api/result/{id}/usage",
  summary: "Read the resource usage over a run",
  description:
    "Returns memory and CPU time at up to 128 moments of the run. They are 10 ms apart at first; when there would be more than " +
    "128, the distance doubles. These samples are not evidence: the verdict follows from the record alone.",
  parameters: { path: { id: SUBMISSION_ID } },
  successes: { 200: { description: "The samples of the run", body: usageBody } },
  handler:
    ({ dependencies: { store } }) =>
    async ({ request, caller, path: { id } }) => {
      const samples = await store.submissions.samples(id, caller.accountId);
      if (samples === undefined) throw clientError("submissionNotFound", []);
      request.submissionId = id;
      return { id, usage: samples && toUsage(samples) };
    },
});

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
