/** Every change of an operator that leaves an entry in the audit trail. */
export const AUDIT_ACTIONS = [
  "account.create",
  "account.set-tier",
  "account.erase",
  "tier.set",
  "project.create",
  "project.rename",
  "project.archive",
  "project.restore",
  "key.create",
  "key.update",
  "key.rotate",
  "key.revoke",
  "endpoint.create",
  "endpoint.enable",
  "endpoint.disable",
  "endpoint.rotate-secret",
  "endpoint.set-signing",
  "endpoint.remove",
  "person.invite",
  "person.withdraw",
  "person.create",
  "person.update",
  "person.reset",
  "person.set-password",
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];
