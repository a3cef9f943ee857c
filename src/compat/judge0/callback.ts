import type { Caller } from "../../domain/submission.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import type { Faults } from "./field-errors.ts";
import type { Judge0Request } from "./submission.ts";

const FIELD = "callback_url";
const MAX_LENGTH = 2_048;

/**
 * Reads the field `callback_url`. A project allows callbacks to the origins of its active endpoints. The address of an endpoint was
 * checked when it was made, each attempt of a callback checks it again, and the endpoint's secret signs the callback.
 */
export async function callbackOf(
  value: unknown,
  { projectId }: Caller,
  { endpoints }: Dependencies["store"],
  faults: Faults,
): Promise<Judge0Request["callback"]> {
  if (value === undefined || value === null || value === "") return null;
  const origin = typeof value === "string" ? originOf(value) : null;
  if (typeof value !== "string" || origin === null) faults.add(FIELD, NO_URL);
  else if (projectId === null) faults.add(FIELD, "setting callback is not allowed for a key without a project");
  else {
    const all = await endpoints.list({ projectId });
    const endpoint = all.find(({ active, url }) => active && URL.canParse(url) && new URL(url).origin === origin);
    if (endpoint) return { url: value, endpointId: endpoint.id };
    faults.add(FIELD, "is not at the origin of an active endpoint of the project");
  }
  return null;
}

const NO_URL = `must be a URL with https, without a user, a password, a fragment or a backslash, in at most ${MAX_LENGTH} ASCII characters`;

/** The origin of a URL; null if the text is not as NO_URL says. src/webhooks/target.ts has further rules for each attempt. */
function originOf(text: string): string | null {
  if (text.length > MAX_LENGTH || !/^[!-~]+$/.test(text) || /[\\#]/.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, origin } = new URL(text);
  return protocol === "https:" && username === "" && password === "" ? origin : null;
}
