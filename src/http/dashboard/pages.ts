import { z } from "zod";

/**
 * Lists that come in parts go by the number of a row, which only ever rises: a part begins where the one before ended, whatever
 * was added or removed meanwhile.
 */

/** Where a part ended, as it was answered. */
export const place = z
  .string()
  .regex(/^\d{1,15}$/, "is nothing that an answer had as next")
  .transform(Number);

/** @param found one more than is shown, where there is one. */
export function nextOf(shown: readonly { readonly seq: number }[], found: readonly unknown[]): string | null {
  const last = shown.at(-1);
  return last && found.length > shown.length ? String(last.seq) : null;
}
