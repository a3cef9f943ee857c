import type { EgressHost } from "../../../src/domain/egress/egress-record.ts";
import { type Column, DataTable } from "../components/data-table.tsx";
import { count, size } from "../components/format.ts";
import { StatusBadge } from "../components/status-badge.tsx";
import css from "./egress.module.css";
import { HostName } from "./host-name.tsx";
import { useFirst } from "./use-first.tsx";

/** Rows that are shown at first. */
const SHOWN = 25;

export function DecisionBadge({ of: decision }: { of: EgressHost["decision"] }) {
  const isAllowed = decision === "allowed";
  return <StatusBadge tone={isAllowed ? "good" : "bad"}>{isAllowed ? "allowed" : "refused"}</StatusBadge>;
}

/** A number of bytes in a table, in one line. */
export function Bytes({ of: bytes }: { of: number }) {
  return <span className={css.bytes}>{size(bytes)}</span>;
}

/** What tables about hosts have in common. Nothing is sent to a host that was refused. */
export const HOST_COLUMNS = {
  host: { head: "Host", cell: ({ name }) => <HostName of={name} />, main: true },
  decision: { head: "Decision", cell: ({ decision }) => <DecisionBadge of={decision} /> },
  connections: { head: "Connections", number: true, cell: ({ connections }) => count(connections) },
  sent: { head: "Sent", number: true, cell: ({ bytes_up }) => <Bytes of={bytes_up} /> },
  received: { head: "Received", number: true, cell: ({ bytes_down }) => <Bytes of={bytes_down} /> },
} as const satisfies Record<string, Column<EgressHost>>;

interface Props {
  readonly caption: string;
  readonly of: readonly EgressHost[];
}

/** What was reached and what was refused, by host. */
export function HostTable({ caption, of: hosts }: Props) {
  const [rows, more] = useFirst(hosts, SHOWN, "hosts");
  return (
    <>
      <DataTable
        caption={caption}
        columns={Object.values(HOST_COLUMNS)}
        rows={rows}
        rowKey={({ name, decision }) => `${decision} ${name}`}
      />
      {more}
    </>
  );
}
