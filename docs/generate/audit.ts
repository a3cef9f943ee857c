import { AUDIT_ACTIONS } from "../../src/domain/audit.ts";
import { code, table } from "./table.ts";

/** The actions of the audit trail, by their subject. */
export function auditActions(): string {
  const bySubject = Map.groupBy(AUDIT_ACTIONS, (action) => action.split(".")[0] ?? action);
  return table(
    ["subject", "actions"],
    [...bySubject].map(([subject, actions]) => [subject, actions.map(code).join(", ")]),
  );
}
