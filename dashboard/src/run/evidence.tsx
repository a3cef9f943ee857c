import type { Proof } from "../../../src/http/dashboard/api/submissions.ts";
import { type Column, DataTable } from "../components/data-table.tsx";
import { InlineCode } from "../components/inline-code.tsx";
import { EmptyState } from "../components/query-boundary.tsx";
import css from "./evidence.module.css";

const COLUMNS: readonly Column<Proof>[] = [
  { head: "Field", cell: ({ field }) => <code className={css.field}>{field}</code> },
  { head: "Value", cell: ({ value }) => <span className={css.value}>{value}</span> },
  {
    head: "What it proves",
    cell: ({ meaning }) => (
      <span className={css.meaning}>
        <InlineCode text={meaning} />
      </span>
    ),
  },
];

/** All fields of the evidence, with their values and what they prove. */
export function EvidenceTable({ of: proofs }: { of: readonly Proof[] }) {
  if (proofs.length === 0)
    return (
      <EmptyState title="No evidence">
        There is no trustworthy report of a sandbox, for example because the run was cancelled or the platform failed (
        <a href="/docs/verdicts">documentation</a>).
      </EmptyState>
    );
  return <DataTable caption="Evidence" columns={COLUMNS} rows={proofs} rowKey={({ field }) => field} />;
}
