import { createHash, randomBytes } from "node:crypto";

const PREFIX = "assay_live_";
/** 24 random bytes are 32 URL-safe characters: with 192 bits, an unsalted hash is safe to store. */
const RANDOM_BYTES = 24;
/** Characters after the prefix that stay visible, so that users can recognise a key. */
const VISIBLE = 6;

const KEY_FORM = /^assay_live_[A-Za-z0-9_-]{32,128}$/;

/** Makes a key. The key is shown once; its hash, and the prefix by which users recognise it, are stored. */
export function newKey(): { key: string; hash: string; prefix: string } {
  const key = PREFIX + randomBytes(RANDOM_BYTES).toString("base64url");
  return { key, hash: hashKey(key), prefix: key.slice(0, PREFIX.length + VISIBLE) };
}

/** @returns the SHA-256 of the key, in hexadecimal. */
export function hashKey(key: string): string {
  return createHash("sha256").update(key, "utf8").digest("hex");
}

/** Whether the text has the form of a key. Other text is no key, so the database need not be asked. */
export function hasKeyForm(text: string): boolean {
  return KEY_FORM.test(text);
}

/** The id of an account's key `playground`. It has no secret; the runs that members start from the dashboard count for it. */
export function playgroundKeyId(accountId: string): string {
  return `playground-${accountId}`;
}

export function isPlaygroundKey({ id, accountId }: { readonly id: string; readonly accountId: string }): boolean {
  return id === playgroundKeyId(accountId);
}
