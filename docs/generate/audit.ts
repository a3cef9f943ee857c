import { AUDIT_ACTIONS } from "../../src/domain/audit.ts";
import { code, table } from "./table.ts";

/** The actions of the audit trail by subject: "key" and "rotate" for `key.rotate`. */
export function auditActions(): string {
  const bySubject = Map.groupBy(AUDIT_ACTIONS, (action) => action.split(".")[0] ?? action);
  return table(
    ["subject", "actions, after `subject.`"],
    [...bySubject].map(([subject, actions]) => {
      return [code(subject), actions.map((action) => action.slice(subject.length + 1)).join(", ")];
    }),
  );
}
