import { useQuery } from "@tanstack/react-query";
import type { SandboxEgressRecord } from "../../../../src/domain/egress/egress-record.ts";
import type { SandboxDetail, SandboxNetwork } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { queries } from "../../client/api.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { count, counted, size } from "../../components/format.ts";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { connectionsIn, EgressView, egressSummary, Incomplete } from "../../egress/egress-view.tsx";
import { HostTable } from "../../egress/host-table.tsx";
import { PolicyView } from "../../egress/policy.tsx";
import { LimitBars } from "../../run/limit-usage.tsx";
import css from "./sandboxes.module.css";

/** How often what a living sandbox has reached is read. */
const READ_MS = 5_000;

/** What the programs of a sandbox may reach over the network, and what they have reached. */
export function Network({ of: { row, network } }: { of: SandboxDetail }) {
  if (!network.hasNetwork)
    return (
      <p className={css.card}>
        It has no network, and gets none: it was created without one. Its programs can neither reach another machine nor
        look up a name.
      </p>
    );
  const isLive = row.state !== "ended";
  // The key makes it read what is stored at the end.
  return <Reached key={String(isLive)} id={row.id} network={network} isLive={isLive} />;
}

interface Props {
  readonly id: string;
  readonly network: SandboxNetwork;
  readonly isLive: boolean;
}

function Reached({ id, network, isLive }: Props) {
  const query = useQuery({
    ...queries.sandboxEgress(id),
    refetchOnMount: "always",
    refetchInterval: isLive && READ_MS,
  });
  return (
    <div className={css.network}>
      <div className={css.card}>
        <Policy of={network} isLive={isLive} />
        {query.data?.egress && <Budgets of={query.data.egress} network={network} />}
      </div>
      <QueryBoundary query={query} placeholder={<TableSkeleton rows={3} />}>
        {({ egress }) =>
          egress ? (
            <Hosts of={egress} />
          ) : (
            <p className={css.card}>
              What it has reached is not known here
              {isLive
                ? ": another process of the service has it, which cannot be asked now."
                : ", because its machine was lost."}
            </p>
          )
        }
      </QueryBoundary>
    </div>
  );
}

function Policy({ of: { policy, version }, isLive }: { of: SandboxNetwork; isLive: boolean }) {
  const [is, may] = isLive ? ["is", "may"] : ["was", "might"];
  if (policy === "none")
    return (
      <p>
        Its network {is} closed by version {count(version)} of its policy: its programs {may} reach nothing.
      </p>
    );
  return (
    <>
      <p>
        Its programs {may} reach only these hosts, by version {count(version)} of its policy:
      </p>
      <PolicyView of={policy} />
    </>
  );
}

/** How much of the budgets is used, as bars. */
function Budgets({ of: egress, network: { policy } }: { of: SandboxEgressRecord; network: SandboxNetwork }) {
  if (policy === "none") return null;
  const { bytes_up, bytes_down, budget_left: left } = egress;
  const bars = [
    { name: "Sent", used: bytes_up, limit: policy.bytes_up ?? 0, met: left.up === 0 },
    { name: "Received", used: bytes_down, limit: policy.bytes_down ?? 0, met: left.down === 0 },
  ];
  return (
    <div className={css.budgets}>
      <LimitBars of={bars.map((bar) => ({ ...bar, written: size }))} />
      <p className={css.hint}>
        {size(left.up)} may still be sent, and {size(left.down)} received.
      </p>
    </div>
  );
}

function Hosts({ of: egress }: { of: SandboxEgressRecord }) {
  const { hosts, denied, dns, unattributed: rest, complete } = egress;
  const hasRest = connectionsIn(rest) + rest.refused_names.length > 0;
  return (
    <>
      {!complete && <Incomplete />}
      {hosts.length > 0 ? (
        <HostTable caption="Hosts that it reached or tried to reach" of={hosts} />
      ) : (
        <p className={css.card}>Its programs have connected to nothing.</p>
      )}
      <p className={css.hint}>
        Queries for names: {count(dns.answered)} allowed, {count(dns.refused)} refused.
        {denied > 0 &&
          ` ${counted(denied, "connection was", "connections were")} refused: each execution shows its own, with the reason.`}
      </p>
      {hasRest && (
        <details className={css.evidence}>
          <summary>Of no execution: {egressSummary(rest)}</summary>
          <p className={css.hint}>This is what processes have done that an execution left behind, after its end.</p>
          <EgressView of={rest} />
        </details>
      )}
    </>
  );
}
