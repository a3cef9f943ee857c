import { createHash, randomBytes } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Maximum idle time of a session, and its maximum age since the sign-in. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
export const SESSION_LONGEST_MS = 7 * DAY_MS;

/** Validity of one-time links. A reset is short, because the user waits for it. */
export const LINK_MS = { first: 3 * DAY_MS, invite: 7 * DAY_MS, reset: DAY_MS } as const;

/** The kind of an invitation and its link. */
export type LinkKind = keyof typeof LINK_MS;

/** 256 bits cannot be guessed, so an unsalted hash is safe to store. */
const TOKEN_BYTES = 32;
const TOKEN_FORM = /^[A-Za-z0-9_-]{43}$/;

/** A new secret for a cookie or a link, with the hash to store. */
export function newToken(): { readonly token: string; readonly hash: string } {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** @returns SHA-256 of the token, hexadecimal. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

/** Whether the text has the form of a token; other text does not need a database query. */
export function hasTokenForm(text: string): boolean {
  return TOKEN_FORM.test(text);
}
