import { createHash, randomBytes } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The maximum idle time of a session, and the maximum age of a session since the sign-in. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
export const SESSION_LONGEST_MS = 7 * DAY_MS;

/** How long each kind of one-time link is valid. A link to reset a password is valid for a short time, because its user waits for it. */
export const LINK_MS = { first: 3 * DAY_MS, invite: 7 * DAY_MS, reset: DAY_MS } as const;

/** The kind of a one-time link. */
export type LinkKind = keyof typeof LINK_MS;

/** 32 bytes are 256 bits, which cannot be guessed, so an unsalted hash is safe to store. */
const TOKEN_BYTES = 32;
const TOKEN_FORM = /^[A-Za-z0-9_-]{43}$/;

/** Makes a secret for a cookie or a link. Only its hash is stored. */
export function newToken(): { readonly token: string; readonly hash: string } {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** @returns the SHA-256 of the token, in hexadecimal. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

/** Whether the text has the form of a token. Other text is no token, so the database need not be asked. */
export function hasTokenForm(text: string): boolean {
  return TOKEN_FORM.test(text);
}
