import { createHmac } from "node:crypto";
import type { Signing } from "../domain/webhook.ts";

const PREFIX = "whsec_";

export interface Signed {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/**
 * The three headers of Standard Webhooks. With several secrets the signature has one value for each, separated by
 * spaces: a receiver that has any of them accepts the message.
 * @param body the bytes exactly as they are sent.
 * @throws when a secret cannot be a key, or there is none.
 */
export function sign(
  message: { readonly id: string; readonly atMs: number; readonly body: Buffer },
  secrets: readonly string[],
  signing: Signing,
): Signed {
  if (secrets.length === 0) throw new Error("there is no secret");
  const timestamp = Math.floor(message.atMs / 1000).toString();
  const signatures = secrets.map((secret) => {
    const hmac = createHmac("sha256", keyOf(secret, signing));
    return `v1,${hmac.update(`${message.id}.${timestamp}.`).update(message.body).digest("base64")}`;
  });
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/** `raw`: the secret as it is shown, for receivers that use its characters. */
function keyOf(secret: string, signing: Signing): Buffer {
  if (signing === "raw") return Buffer.from(secret, "utf8");
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const key = Buffer.from(encoded, "base64");
  // Buffer skips what is not base64, and an empty key would sign what anybody can sign.
  if (key.length === 0 || key.toString("base64") !== encoded) throw new Error("the secret is not whsec_ and base64");
  return key;
}
