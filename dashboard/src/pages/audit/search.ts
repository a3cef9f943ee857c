/** The filters of the audit trail. These are the parameters in the URL of the page, and those of the API. */
export const AUDIT_FILTERS = ["account", "actor", "action", "subject", "since", "until"] as const;

export type AuditSearch = { readonly [name in (typeof AUDIT_FILTERS)[number]]?: string | undefined };
