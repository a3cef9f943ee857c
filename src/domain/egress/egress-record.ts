import { z } from "zod";
import { timeSchema } from "../record.ts";

/*
 * The JSON of what an execution reached over the network, or tried to. Fields are always present, and unknown values are null.
 */

/** How a connection ended. `policy`: a later version of the policy no longer allows it. `sandbox`: the sandbox or its network ended. */
export const CONNECTION_ENDS = ["client", "server", "idle", "budget", "policy", "sandbox"] as const;
export type ConnectionEnd = (typeof CONNECTION_ENDS)[number];

/** The most entries of each list of a record. What is above it is counted. */
export const MAX_EGRESS_CONNECTIONS = 1_000;
export const MAX_EGRESS_NAMES = 1_000;
/** Sums by name and decision: of each name, and of all others. */
const MAX_EGRESS_SUMS = MAX_EGRESS_NAMES + 2;

const count = z.int().min(0);
const decision = z.enum(["allowed", "denied"]);
const bytesUp = count.describe(
  "Bytes that the programs sent, and names under wildcards for which a name server was asked",
);
const bytesDown = count.describe("Bytes that the programs received");

export const connectionSchema = z.strictObject({
  at: timeSchema.describe("When the program connected"),
  name: z.string().nullable().describe("The name that the program meant; null for a connection to an address"),
  address: z
    .string()
    .nullable()
    .describe(
      "The address to which the connection was made; for one that was denied, the address that the program used",
    ),
  port: z.int().min(1).max(65_535),
  decision,
  rule: z.string().nullable().describe("The host or network of the rule that allows the connection"),
  reason: z.string().nullable().describe("Why it was denied, or why it failed or was ended"),
  bytes_up: bytesUp,
  bytes_down: bytesDown,
  ended: z.enum(CONNECTION_ENDS).nullable().describe("What ended it; null if it was denied, or is still open"),
});

export const egressSchema = z.strictObject({
  policy_version: count.describe("The version of the policy at the time of the record"),
  bytes_up: bytesUp,
  bytes_down: bytesDown,
  budget_left: z.strictObject({ up: count, down: count }).describe("What the sandbox may still send and receive"),
  connections: z
    .array(connectionSchema)
    .max(MAX_EGRESS_CONNECTIONS)
    .describe("The first connections, at most 1,000, in the order in which they began"),
  more: z
    .array(
      z.strictObject({
        name: z.string().nullable(),
        decision,
        connections: count,
        bytes_up: bytesUp,
        bytes_down: bytesDown,
      }),
    )
    .max(MAX_EGRESS_SUMS)
    .describe("All further connections, by name or address and decision; `null` for those after the first 1,000 names"),
  denied: count.describe("Connections that were denied"),
  refused_names: z
    .array(z.strictObject({ name: z.string(), queries: count }))
    .max(MAX_EGRESS_NAMES)
    .describe("Names that the policy does not allow, at most 1,000"),
  dns: z
    .strictObject({ answered: count, refused: count })
    .describe("Queries for names that the policy allows, and for others"),
  complete: z
    .boolean()
    .describe(
      "Whether everything is listed and counted here. False if the part of Assay that forwards connections has failed meanwhile: all connections have ended then, and what was known of them is lost",
    ),
  source: z
    .enum(["inet_diag cgroup id", "sandbox"])
    .describe(
      "By what a connection belongs here: the kernel's record of the socket, or only the sandbox, because the execution is not known",
    ),
});

export type EgressRecord = z.output<typeof egressSchema>;
export type ConnectionRecord = z.output<typeof connectionSchema>;

export const egressHostSchema = z.strictObject({
  name: z.string().nullable().describe("A name, or an address; null for all that are not listed"),
  decision,
  connections: count,
  bytes_up: bytesUp,
  bytes_down: bytesDown,
});
export type EgressHost = z.output<typeof egressHostSchema>;

/** What all executions of a sandbox together have reached, and what it itself has. */
export const sandboxEgressSchema = z.strictObject({
  ...egressSchema.pick({
    policy_version: true,
    bytes_up: true,
    bytes_down: true,
    budget_left: true,
    denied: true,
    dns: true,
    complete: true,
  }).shape,
  hosts: z
    .array(egressHostSchema)
    .max(MAX_EGRESS_SUMS)
    .describe("All connections of the sandbox, by name or address and decision"),
  unattributed: egressSchema.describe(
    "What belongs to no execution, such as what processes do that an execution has left behind, after its end",
  ),
});
export type SandboxEgressRecord = z.output<typeof sandboxEgressSchema>;

/** The sizes of records that were measured: a record does not change. */
const sizes = new WeakMap<object, number>();

/** The bytes of a record as JSON, as the database has it. Hostile programs write it, so they count among what is kept of a sandbox. */
export function egressBytes(record: EgressRecord | SandboxEgressRecord | null): number {
  if (record === null) return 0;
  const bytes = sizes.get(record) ?? Buffer.byteLength(JSON.stringify(record));
  sizes.set(record, bytes);
  return bytes;
}
