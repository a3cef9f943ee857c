import type { Proof } from "../../../src/http/dashboard/answers.ts";
import { Empty } from "../pieces/answered.tsx";
import { type Column, Rows } from "../pieces/rows.tsx";
import css from "./proven.module.css";
import { Told } from "./told.tsx";

const COLUMNS: readonly Column<Proof>[] = [
  { head: "Field", cell: ({ field }) => <code className={css.field}>{field}</code> },
  { head: "Value", cell: ({ value }) => <span className={css.value}>{value}</span> },
  {
    head: "What it proves",
    cell: ({ meaning }) => (
      <span className={css.meaning}>
        <Told text={meaning} />
      </span>
    ),
  },
];

/** Every field of the evidence with a sentence. */
export function Proven({ of: proofs }: { of: readonly Proof[] }) {
  if (proofs.length === 0) return <Empty title="There is no evidence">Nothing came back that could be believed.</Empty>;
  return <Rows caption="Evidence" columns={COLUMNS} rows={proofs} of={({ field }) => field} />;
}
