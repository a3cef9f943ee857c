import { createHmac } from "node:crypto";
import type { Signing } from "../domain/webhook.ts";
import { type Body, paced } from "./body.ts";

const PREFIX = "whsec_";

export interface Signed {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/**
 * Creates the three headers of Standard Webhooks. The header with the signature has one value for each secret, separated by spaces. A
 * receiver that has any of the secrets accepts the message.
 * @param message.body the bytes as they are sent. @param message.owner the account. Accounts take turns on the event loop.
 * @throws if there is no secret, or a secret is not a valid key.
 */
export async function sign(
  message: { readonly id: string; readonly atMs: number; readonly body: Body; readonly owner: string },
  secrets: readonly string[],
  signing: Signing,
): Promise<Signed> {
  if (secrets.length === 0) throw new Error("there is no secret");
  const timestamp = Math.floor(message.atMs / 1000).toString();
  const head = `${message.id}.${timestamp}.`;
  const hmacs = secrets.map((secret) => createHmac("sha256", keyOf(secret, signing)).update(head));
  for await (const piece of paced(message.body, message.owner)) for (const hmac of hmacs) hmac.update(piece);
  const signatures = hmacs.map((hmac) => `v1,${hmac.digest("base64")}`);
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/** The key of the HMAC. With `raw`, it is the characters of the secret, as they are shown to the user. */
function keyOf(secret: string, signing: Signing): Buffer {
  if (signing === "raw") return Buffer.from(secret, "utf8");
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const key = Buffer.from(encoded, "base64");
  // Buffer ignores invalid base64, and signatures with an empty key can be forged.
  if (key.length === 0 || key.toString("base64") !== encoded)
    throw new Error("the secret is not whsec_ followed by base64");
  return key;
}
