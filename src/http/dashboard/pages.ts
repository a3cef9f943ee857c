import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { idText } from "./authorize.ts";
import { maySee, type SignedIn } from "./session.ts";

/**
 * Pagination by row number, which only increases: a page begins where the previous one ended, regardless of rows added
 * or removed in the meantime.
 */

/** The end of a page, as returned in `next`. */
export const cursor = z
  .string()
  .regex(/^\d{1,15}$/, "is not a value of next")
  .transform(Number);

/** @param found the rows read, one more than shown if there is a next page. */
export function nextOf(shown: readonly { readonly seq: number }[], found: readonly unknown[]): string | null {
  const last = shown.at(-1);
  return last && found.length > shown.length ? String(last.seq) : null;
}

/** Query of lists of keys, projects, endpoints, people and invitations; `before` is the `next` of the previous page. */
export const listed = z.strictObject({
  account: idText.optional(),
  before: idText.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

/** The accounts whose rows are listed. @throws ClientError notFound for an account that the person may not see. */
export function accountsFor(person: SignedIn, account: string | undefined): readonly string[] | null {
  if (account === undefined) return person.accountIds;
  if (!maySee(person, account)) throw clientError("notFound", []);
  return [account];
}

/** Splits rows, of which one more was read than is shown. */
export function pageOf<Row extends { readonly id: string }>(found: readonly Row[], limit: number) {
  const shown = found.slice(0, limit);
  return { shown, next: found.length > limit ? (shown.at(-1)?.id ?? null) : null };
}
