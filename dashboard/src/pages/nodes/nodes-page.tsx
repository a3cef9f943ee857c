import { useQuery } from "@tanstack/react-query";
import type { Node } from "../../../../src/http/dashboard/api/nodes.ts";
import { queries } from "../../client/api.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { HealthChecks } from "../../components/health-checks.tsx";
import { Page, Section } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import css from "./nodes.module.css";

export function NodesPage() {
  const nodes = useQuery(queries.nodes());
  return (
    <Page
      title="Nodes"
      lead="The workers that run submissions. Each worker regularly verifies all controls of the sandbox by a real run."
    >
      <QueryBoundary query={nodes} placeholder={<TableSkeleton rows={5} />}>
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No worker is registered">
              Submissions stay pending until a worker runs. Start one with <code>assay serve</code> or{" "}
              <code>assay worker</code> (<a href="/docs/scaling">documentation</a>).
            </EmptyState>
          ) : (
            all.map((node) => <NodeSection key={node.id} node={node} />)
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function NodeSection({
  node: { id, ready, running, slots, languages, cgroupBackend, checks, provenAt },
}: {
  node: Node;
}) {
  const failing = checks.filter(({ ok }) => !ok);
  return (
    <Section
      title={id}
      actions={<StatusBadge tone={ready ? "good" : "bad"}>{ready ? "ready" : "not ready"}</StatusBadge>}
    >
      <DescriptionList
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
          <HealthChecks checks={checks} />
        </details>
      )}
    </Section>
  );
}
