import { randomBytes } from "node:crypto";

/**
 * How the HMAC key is derived from the secret. `standard`: the decoded bytes, as in Standard
 * Webhooks libraries; `raw`: its characters, for receivers that do not decode it.
 */
export const SIGNINGS = ["standard", "raw"] as const;

export type Signing = (typeof SIGNINGS)[number];

const SECRET_BYTES = 32;

/** A new secret, to be shown once: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}
