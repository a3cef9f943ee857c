import { useQuery } from "@tanstack/react-query";
import type { Node } from "../../../../src/http/dashboard/api/nodes.ts";
import { asking } from "../../client/api.ts";
import { RowsWaiting } from "../../components/data-table.tsx";
import { Facts } from "../../components/description-list.tsx";
import { Checks } from "../../components/health-checks.tsx";
import { Page, Section } from "../../components/page.tsx";
import { Empty, QueryBoundary } from "../../components/query-boundary.tsx";
import { State } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import css from "./nodes.module.css";

export function NodesPage() {
  const nodes = useQuery(asking.nodes());
  return (
    <Page
      title="Nodes"
      lead="The workers that run submissions. Each regularly verifies all sandbox controls by a real run."
    >
      <QueryBoundary query={nodes} waiting={<RowsWaiting rows={5} />}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No worker is registered">
              Submissions stay pending until a worker runs. Start one with <code>assay serve</code> or{" "}
              <code>assay worker</code> (<a href="/docs/scaling">documentation</a>).
            </Empty>
          ) : (
            all.map((node) => <One key={node.id} node={node} />)
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function One({ node: { id, ready, running, slots, languages, cgroupBackend, checks, provenAt } }: { node: Node }) {
  const failing = checks.filter(({ ok }) => !ok);
  return (
    <Section title={id} actions={<State tone={ready ? "good" : "bad"}>{ready ? "ready" : "not ready"}</State>}>
      <Facts
        of={[
          ["Running", `${running} of ${slots} slots`],
          ["Proven", <Timestamp key="proven" at={provenAt} />],
          ["Control groups", cgroupBackend ?? "not known"],
          ["Languages", languages.join(", ") || "none proven"],
        ]}
      />
      {checks.length > 0 && (
        <details className={css.checks} open={failing.length > 0}>
          <summary>
            {failing.length === 0
              ? `All ${checks.length} checks work`
              : `${failing.length} of ${checks.length} checks fail`}
          </summary>
          <Checks checks={checks} />
        </details>
      )}
    </Section>
  );
}
