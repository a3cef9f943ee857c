import { randomBytes } from "node:crypto";

/**
 * How the key of the HMAC is derived from the secret. `standard`: it is the decoded bytes of the secret, as in the libraries of Standard
 * Webhooks. `raw`: it is the characters of the secret, for receivers that do not decode the secret.
 */
export const SIGNINGS = ["standard", "raw"] as const;

export type Signing = (typeof SIGNINGS)[number];

const SECRET_BYTES = 32;

/** A new secret, to be shown once: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}
