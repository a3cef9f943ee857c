import { useQuery } from "@tanstack/react-query";
import type { Node } from "../../../src/http/dashboard/answers.ts";
import { asking } from "../api.ts";
import { Answered, Empty } from "../pieces/answered.tsx";
import { Moment } from "../pieces/moment.tsx";
import { Page } from "../pieces/page.tsx";
import { type Column, Rows, RowsWaiting } from "../pieces/rows.tsx";
import { State } from "../pieces/state.tsx";

const COLUMNS: readonly Column<Node>[] = [
  { head: "Worker", cell: ({ id }) => <code>{id}</code> },
  { head: "State", cell: ({ ready }) => <State tone={ready ? "good" : "bad"}>{ready ? "ready" : "not ready"}</State> },
  { head: "Running", number: true, cell: ({ running, slots }) => `${running} of ${slots}` },
  { head: "Languages", cell: ({ languages }) => languages.join(", ") || "none proven" },
  { head: "Backend", cell: ({ cgroupBackend }) => cgroupBackend ?? "unknown" },
  { head: "Proven", cell: ({ provenAt }) => <Moment at={provenAt} /> },
];

export function NodesPage() {
  const nodes = useQuery({ ...asking.nodes(), refetchInterval: 5_000 });
  return (
    <Page
      title="Nodes"
      lead="The workers that claim submissions and run them. Each proves again and again, by a real run, that every control holds."
    >
      <Answered of={nodes} waiting={<RowsWaiting rows={2} />}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No worker has announced itself">
              Submissions wait until one does. Start one with <code>assay serve</code> or <code>assay worker</code>.
            </Empty>
          ) : (
            <Rows caption="Workers" columns={COLUMNS} rows={rows} of={({ id }) => id} />
          )
        }
      </Answered>
    </Page>
  );
}
