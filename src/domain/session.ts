import { createHash, randomBytes } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A session ends when nobody has used it for so long, and in any case so long after the sign-in. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
export const SESSION_LONGEST_MS = 7 * DAY_MS;

/** How long one-time links can be used. A reset is asked for by somebody who waits for it. */
export const LINK_MS = { first: 3 * DAY_MS, invite: 7 * DAY_MS, reset: DAY_MS } as const;

/** Of an invitation, and so of its link. */
export type LinkKind = keyof typeof LINK_MS;

/** 256 bits: nobody guesses it, so a plain hash is enough to store. */
const TOKEN_BYTES = 32;
const TOKEN_FORM = /^[A-Za-z0-9_-]{43}$/;

/** A new secret for a cookie or a link, with what may be stored of it. */
export function newToken(): { readonly token: string; readonly hash: string } {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** @returns SHA-256 of the token, hexadecimal. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

/** Whether the text has the form of a token: what has not need not reach the database. */
export function hasTokenForm(text: string): boolean {
  return TOKEN_FORM.test(text);
}
