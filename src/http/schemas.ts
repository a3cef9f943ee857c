import { z } from "zod";
import { record } from "./record-schema.ts";
import { submitBody } from "./request.ts";

/** All request and response bodies, by their names in /openapi.json. */

const count = z.int().min(0);
const id = z.uuid().describe("Id of the submission");
const status = z.enum(["pending", "running", "completed", "error"]);

const check = z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() });
const enforcement = z.enum(["strict", "none"]).describe("`strict`: a recent self-test proved full isolation");

const error = z.strictObject({ error: z.string(), message: z.string().optional() });

export const SCHEMAS = {
  SubmitRequest: submitBody,
  Accepted: z.strictObject({
    id,
    status: z.literal("pending"),
    queue_depth: count.describe("Pending submissions of all keys, this one included"),
  }),
  Record: record,
  Health: z.strictObject({
    status: z.enum(["ok", "degraded"]),
    enforcement_mode: enforcement,
    workers: count.describe("Submissions that can run at once"),
    queue_depth: count.describe("Pending submissions of all keys"),
  }),
  Ready: z.strictObject({
    status: z.literal("ready"),
    enforcement_mode: enforcement,
    cgroup_backend: z.enum(["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]).nullable(),
    checks: z.array(check),
  }),
  Languages: z.array(z.string()).describe("Canonical names"),
  Error: error,
  NotFinished: z.strictObject({ error: z.string(), id, status }),
  NotReady: z.strictObject({ error: z.string(), status: z.literal("not_ready"), checks: z.array(check) }),
} as const;

export type SchemaName = keyof typeof SCHEMAS;

/** JSON Schema 2020-12 of each, as OpenAPI 3.1 requires. */
export function jsonSchemas(): Record<SchemaName, Record<string, unknown>> {
  const named = Object.entries(SCHEMAS).map(([name, schema]) => {
    // Input and output types are the same: no schema has transforms or defaults.
    const { $schema: _, ...json } = z.toJSONSchema(schema as z.ZodType, { target: "draft-2020-12" });
    return [name, json];
  });
  return Object.fromEntries(named);
}
