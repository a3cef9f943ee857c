import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { idText } from "./authorize.ts";
import { maySee, type SignedIn } from "./session.ts";

/**
 * Lists are paginated by the number of a row, or by its id. So a page begins where the previous page ended, even if rows have been
 * added or removed in the meantime.
 */

/** The number of the row at which a page ended. A response returns it as `next`, and the request for the next page sends it as `before`. */
export const cursor = z
  .string()
  .regex(/^\d{1,15}$/, "is not a value of next")
  .transform(Number);

/** @param shown the rows of the page. @param found the rows that were read: one more than `shown` if there is a next page. */
export function nextOf(shown: readonly { readonly seq: number }[], found: readonly unknown[]): string | null {
  const last = shown.at(-1);
  return last && found.length > shown.length ? String(last.seq) : null;
}

/** The query of lists of keys, projects, endpoints, people and invitations. `before` is the id that the previous page returned as `next`. */
export const listed = z.strictObject({
  account: idText.optional(),
  before: idText.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

/** The accounts whose rows are listed; null for all. @throws ClientError notFound for an account that the person may not see. */
export function accountsFor(person: SignedIn, account: string | undefined): readonly string[] | null {
  if (account === undefined) return person.accountIds;
  if (!maySee(person, account)) throw clientError("notFound", []);
  return [account];
}

/** Returns the rows of a page, and its `next`. @param found the rows that were read, at most `limit` and one more. */
export function pageOf<Row extends { readonly id: string }>(found: readonly Row[], limit: number) {
  const shown = found.slice(0, limit);
  return { shown, next: found.length > limit ? (shown.at(-1)?.id ?? null) : null };
}
