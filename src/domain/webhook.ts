import { randomBytes } from "node:crypto";

/**
 * How the secret becomes the HMAC key. `standard`: the decoded bytes, as Standard Webhooks
 * libraries have it; `raw`: its characters, for receivers that do not decode.
 */
export const SIGNINGS = ["standard", "raw"] as const;

export type Signing = (typeof SIGNINGS)[number];

const SECRET_BYTES = 32;

/** A new secret, to be shown once: `whsec_` and the base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}
