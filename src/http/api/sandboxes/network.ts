import { z } from "zod";
import {
  connectionSchema,
  egressHostSchema,
  egressSchema,
  sandboxEgressSchema,
} from "../../../domain/egress/egress-record.ts";
import { hasNetwork, networkPolicySchema, toNetworkJson } from "../../../domain/egress/policy.ts";
import type { Sandbox } from "../../../domain/sandboxes/sandbox.ts";
import { toSandboxRecord } from "../../../domain/sandboxes/sandbox-record.ts";
import { named } from "../../named-schemas.ts";
import { route } from "../../route.ts";
import { count } from "../fields.ts";
import { SANDBOX_ID } from "../parameters.ts";
import { networkBody, POLICY_VALUES, sandboxBody } from "./bodies.ts";
import { checkAllowed, ofSandbox } from "./of-sandbox.ts";
import { SANDBOX_ERRORS } from "./refused.ts";
import { toNetworkPolicy } from "./requests.ts";
import { checkStillValid, unlessEnded } from "./sandboxes.ts";

named("EgressConnection", connectionSchema);
named("EgressHost", egressHostSchema);
named("Egress", egressSchema);
named("SandboxEgress", sandboxEgressSchema);

export const offerBody = named(
  "NetworkOffer",
  z.strictObject({
    available: z.boolean().describe("Whether sandboxes of this service can have a network"),
    policy: networkPolicySchema.describe(
      'What a sandbox of this key may reach at most: the network bound of its project and account; "none" if its operator has opened nothing',
    ),
    today: z
      .strictObject({
        date: z.iso.date().describe("The present day, in UTC"),
        bytes_up_left: count
          .nullable()
          .describe("What all sandboxes together may still send today; null if the operator has set no such bound"),
        bytes_down_left: count.nullable().describe("What they may still receive today"),
      })
      .describe("What sandboxes have reserved and not used yet counts as used"),
  }),
);

export const networkOffer = route({
  id: "networkOffer",
  method: "get",
  path: "/api/network",
  summary: "Read what sandboxes may reach",
  description:
    "Returns what sandboxes of the key may reach over the network at most. A sandbox can ask for this, or for less. The operator sets it for accounts and projects.",
  successes: { 200: { description: "What sandboxes may reach", body: offerBody } },
  errors: ["profileForbidden", "sandboxesOff"],
  handler: (services) => async (call) => {
    const { caller } = call;
    checkAllowed(caller, services);
    const { store, sandboxes } = services.dependencies;
    const bound = await store.egress.bound(caller.accountId, caller.projectId);
    const { day, up, down } = await store.egress.leftToday(bound);
    return {
      available: sandboxes.capacity?.network ?? false,
      policy: toNetworkJson(bound.policy),
      today: { date: day, bytes_up_left: up, bytes_down_left: down },
    };
  },
});

export const replaceNetwork = route({
  id: "replaceNetwork",
  method: "put",
  path: "/api/sandboxes/{id}/network",
  summary: "Replace the network policy of a sandbox",
  description:
    "Replaces what the programs of a sandbox may reach, at once and as a whole; the policy then has the next version. Connections that it does not allow are " +
    "ended. Bytes that were used of a budget stay used. A sandbox that was created without a network stays without.",
  parameters: { path: { id: SANDBOX_ID } },
  body: networkBody,
  successes: { 200: { description: "The sandbox with the new policy", body: sandboxBody } },
  errors: [...SANDBOX_ERRORS, "invalidRequest", "networkForbidden", "sandboxWithoutNetwork"],
  config: { ofSandbox: true, values: POLICY_VALUES },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async (handle) => {
      const policy = await toNetworkPolicy(call.request.body, handle.sandbox, services.dependencies, "");
      await checkStillValid(call, services);
      return toSandboxRecord(await handle.replaceNetwork(policy));
    }),
});

export const sandboxEgressBody = named(
  "SandboxEgressReport",
  z.strictObject({
    sandbox_id: z.uuid(),
    egress: sandboxEgressSchema
      .nullable()
      .describe(
        "What all of its executions together have reached, or tried to; null if it has no network, and after the end if its machine was lost",
      ),
  }),
);

export const sandboxEgress = route({
  id: "sandboxEgress",
  method: "get",
  path: "/api/sandboxes/{id}/egress",
  summary: "Read what a sandbox has reached",
  description:
    "Returns what a sandbox has reached over the network until now, by name and decision, also after its end. The records of its executions have their own connections.",
  parameters: { path: { id: SANDBOX_ID } },
  successes: { 200: { description: "What it has reached", body: sandboxEgressBody } },
  errors: [...SANDBOX_ERRORS, "noRoom"],
  config: { ofSandbox: true },
  handler: (services) => async (call) => {
    const { id } = call.path;
    const ofEnded = async ({ state }: Sandbox, refusal?: unknown) => {
      if (state !== "ended") throw refusal;
      return await services.dependencies.store.sandboxes.egress(id, call.caller.accountId);
    };
    const egress = await unlessEnded(call, services, ofEnded, async (handle) =>
      hasNetwork(handle.sandbox.network) ? await handle.egress() : null,
    );
    // Programs have chosen the names, of which there can be a MiB.
    return await services.answers.send(call.owner, call.reply, { sandbox_id: id, egress });
  },
});
