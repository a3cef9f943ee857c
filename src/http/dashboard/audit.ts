import { z } from "zod";
import { auditView } from "../../admin/audit.ts";
import { AUDIT_ACTIONS } from "../../domain/audit.ts";
import type { AuditEntry } from "../../store/access/types.ts";
import type { Audit } from "./api/audit.ts";
import { idText, ownAccount } from "./authorize.ts";
import { cursor } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

const time = z.iso.datetime().transform((text) => Date.parse(text));
const auditQuery = z.strictObject({
  account: idText.optional(),
  actor: z.string().min(1).max(254).optional(),
  action: z.enum(AUDIT_ACTIONS).optional(),
  /** An id, or the name of a tier. */
  subject: z.string().min(1).max(100).optional(),
  since: time.optional(),
  until: time.optional(),
  before: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

/** The most ids of a page whose names are read. One entry has only a few ids. */
const MAX_NAMED = 2_000;

/** /dashboard/api/audit: the audit trail. Members see only the entries of their own accounts. */
export const auditRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/audit",
    session: "member",
    query: auditQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query: { account, since, until, limit, ...filters } }): Promise<Audit> => {
        const accountIds = account === undefined ? person.accountIds : [(await ownAccount(store, person, account)).id];
        const asked = { ...filters, max: limit, accountIds, sinceMs: since, untilMs: until };
        const { entries, next } = await store.audit.search(asked);
        const named = await store.audit.named(idsIn(entries), person.accountIds);
        return {
          entries: entries.map((entry) => ({ seq: entry.seq, ...auditView(entry), action: entry.action })),
          named: Object.fromEntries(named),
          next: next === null ? null : String(next),
        };
      },
  }),
];

/** The subjects, and texts in details, that have the form of an id. */
function idsIn(entries: readonly AuditEntry[]): string[] {
  const texts = entries.flatMap(({ subject, detail }) => [subject, ...Object.values(detail).flatMap(textsIn)]);
  return [...new Set(texts)].filter((text) => /^[\w-]{32,100}$/.test(text)).slice(0, MAX_NAMED);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
