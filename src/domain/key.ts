import { createHash, randomBytes } from "node:crypto";

const PREFIX = "assay_live_";
/** 24 random bytes are 32 URL-safe characters: 192 bits, so a plain hash is enough to store. */
const RANDOM_BYTES = 24;
/** Characters after the prefix that stay visible, so that a person can recognise a key. */
const VISIBLE = 6;

const KEY_FORM = /^assay_live_[A-Za-z0-9_-]{32,128}$/;

/** A new key, to be shown once, with what may be stored of it. */
export function newKey(): { key: string; hash: string; prefix: string } {
  const key = PREFIX + randomBytes(RANDOM_BYTES).toString("base64url");
  return { key, hash: hashKey(key), prefix: key.slice(0, PREFIX.length + VISIBLE) };
}

/** @returns SHA-256 of the key, hexadecimal. */
export function hashKey(key: string): string {
  return createHash("sha256").update(key, "utf8").digest("hex");
}

/**
 * What stands in the place of the hash for the key that counts an account's runs of the playground: no text has this hash, so
 * nobody can ever show that key; and an account has one at most.
 */
export function playgroundHash(accountId: string): string {
  return `playground of ${accountId}`;
}

/** Whether the text has the form of a key: what has not need not reach the database. */
export function hasKeyForm(text: string): boolean {
  return KEY_FORM.test(text);
}

/** The key by which an account's runs of the playground are counted: one for each account, and nobody has it. */
export function playgroundKeyId(accountId: string): string {
  return `playground-${accountId}`;
}

export function isPlaygroundKey({ id, accountId }: { readonly id: string; readonly accountId: string }): boolean {
  return id === playgroundKeyId(accountId);
}
