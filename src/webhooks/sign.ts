import { createHmac } from "node:crypto";
import type { Signing } from "../domain/webhook.ts";

const PREFIX = "whsec_";

export interface Signed {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/**
 * The three headers of Standard Webhooks.
 * @param body the bytes exactly as they are sent.
 * @throws when the secret cannot be a key.
 */
export function sign(
  message: { readonly id: string; readonly atMs: number; readonly body: Buffer },
  secret: string,
  signing: Signing,
): Signed {
  const timestamp = Math.floor(message.atMs / 1000).toString();
  const hmac = createHmac("sha256", keyOf(secret, signing));
  hmac.update(`${message.id}.${timestamp}.`).update(message.body);
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${hmac.digest("base64")}`,
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
