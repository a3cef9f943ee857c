/** The kinds of entries in the audit trail: changes by commands and people, signing in, and reads of programs and sandboxes by administrators. */
export const AUDIT_ACTIONS = [
  "account.create",
  "account.rename",
  "account.set-tier",
  "account.erase",
  "account.suspend",
  "account.resume",
  "account.drop-pending",
  "tier.set",
  "project.create",
  "project.rename",
  "project.archive",
  "project.restore",
  "key.create",
  "key.update",
  "key.rotate",
  "key.revoke",
  "key.drop-pending",
  "endpoint.create",
  "endpoint.enable",
  "endpoint.disable",
  "endpoint.rotate-secret",
  "endpoint.reseal",
  "endpoint.set-signing",
  "endpoint.remove",
  "endpoint.test",
  "endpoint.replay-failed",
  "delivery.replay",
  "person.invite",
  "person.withdraw",
  "person.create",
  "person.update",
  "person.reset",
  "person.set-password",
  "person.sign-in",
  "person.sign-out",
  "person.refuse",
  "problem.import",
  "problem.delete",
  "submission.read",
  "submission.cancel",
  "judgement.read",
  "judgement.cancel",
  "sandbox.read",
  "sandbox.create",
  "sandbox.change",
  "sandbox.pause",
  "sandbox.resume",
  "sandbox.end",
  "sandbox.start-terminal",
  "sandbox.attach",
  "sandbox.write-file",
  "sandbox.make-directory",
  "sandbox.move-file",
  "sandbox.remove-file",
  "sandbox.kill-execution",
  "sandbox.take-snapshot",
  "snapshot.delete",
  "network.set",
  "network.clear",
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The author of a change: a name alone for a command, a name and the address of the client for a request. */
export type AuditActor = string | { readonly name: string; readonly address: string };

export function nameOf(actor: AuditActor): string {
  return typeof actor === "string" ? actor : actor.name;
}

/** Null for a command. */
export function addressOf(actor: AuditActor): string | null {
  return typeof actor === "string" ? null : actor.address;
}

/** Entries about signing in. Strangers can cause them, so their number is bounded, and they are deleted after some time. */
export const SIGN_IN_ACTIONS = ["person.sign-in", "person.sign-out", "person.refuse"] as const satisfies AuditAction[];
