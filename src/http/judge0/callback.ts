import type { Judge0Request } from "../../domain/judge0/submission.ts";
import type { Caller } from "../../domain/submission.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Faults } from "./field-errors.ts";

const FIELD = "callback_url";
const MAX_LENGTH = 2_048;

/**
 * A project allows callbacks to the origins of its active endpoints: their addresses were checked, each attempt checks them again,
 * and the endpoint's secret signs the callback.
 */
export async function callbackOf(
  value: unknown,
  { projectId }: Caller,
  { endpoints }: Dependencies["store"],
  faults: Faults,
): Promise<Judge0Request["callback"]> {
  if (value === undefined || value === null || value === "") return null;
  const origin = typeof value === "string" ? originOf(value) : null;
  if (typeof value !== "string" || origin === null) faults.add(FIELD, "is not a URL that can be called");
  else if (projectId === null) faults.add(FIELD, "setting callback is not allowed for a key without a project");
  else {
    const all = await endpoints.list({ projectId });
    const endpoint = all.find(({ active, url }) => active && URL.canParse(url) && new URL(url).origin === origin);
    if (endpoint) return { url: value, endpointId: endpoint.id };
    faults.add(FIELD, "is not at the origin of an active endpoint of the project");
  }
  return null;
}

/** Null for a URL that no delivery would be sent to (src/webhooks/target.ts). */
function originOf(text: string): string | null {
  if (text.length > MAX_LENGTH || !/^[!-~]+$/.test(text) || /[\\#]/.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, origin } = new URL(text);
  return protocol === "https:" && username === "" && password === "" ? origin : null;
}
