import type { ConnectionRecord, EgressRecord } from "../../../src/domain/egress/egress-record.ts";
import { type Column, DataTable } from "../components/data-table.tsx";
import { count, counted, size } from "../components/format.ts";
import { PlainText } from "../components/program-text.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import css from "./egress.module.css";
import { HostName } from "./host-name.tsx";
import { Bytes, DecisionBadge, HostTable } from "./host-table.tsx";
import { useFirst } from "./use-first.tsx";

/** Connections and names that are shown at first. */
const SHOWN = 25;

const ENDS: Readonly<Record<NonNullable<ConnectionRecord["ended"]>, string>> = {
  client: "the program closed it",
  server: "the server closed it",
  idle: "nothing was sent for too long",
  budget: "the budget was used up",
  policy: "the policy no longer allows it",
  sandbox: "the network of the sandbox ended",
};

/** A connection with its place in the record. */
interface Row extends ConnectionRecord {
  readonly number: number;
}

const COLUMNS: readonly Column<ConnectionRecord>[] = [
  {
    head: "Destination",
    cell: ({ name, address, port }) => (
      <span className={css.destination}>
        <HostName of={name ?? address ?? "an unknown address"} />
        <span className={css.address}>
          port {port}
          {name !== null && address !== null && `, ${address}`}
        </span>
      </span>
    ),
  },
  { head: "Decision", cell: ({ decision }) => <DecisionBadge of={decision} /> },
  { head: "Why", cell: (connection) => <Why of={connection} /> },
  { head: "Sent", number: true, cell: ({ bytes_up }) => <Bytes of={bytes_up} /> },
  { head: "Received", number: true, cell: ({ bytes_down }) => <Bytes of={bytes_down} /> },
  { head: "Began", cell: ({ at }) => <Timestamp at={at} /> },
];

/** By which rule a connection is allowed and how it ended, or why it was refused. */
function Why({ of: { decision, rule, reason, ended } }: { of: ConnectionRecord }) {
  const end = ended === null ? "it is open" : ENDS[ended];
  return (
    <span className={css.why}>
      {rule !== null && (
        <>
          rule <HostName of={rule} />
        </>
      )}
      {rule !== null && decision === "allowed" && "; "}
      {decision === "allowed" && end}
      {reason !== null && (
        <>
          {decision === "allowed" && ": "}
          <PlainText text={reason.slice(0, 300).toWellFormed()} />
        </>
      )}
    </span>
  );
}

/** How many connections there were in a record. */
export function connectionsIn({ connections, more }: EgressRecord): number {
  return more.reduce((sum, one) => sum + one.connections, connections.length);
}

/** What a record says, as a sentence. */
export function egressSummary(record: EgressRecord): string {
  const all = connectionsIn(record);
  const refused = record.denied === 0 ? "" : `, of which ${count(record.denied)} refused`;
  return `${counted(all, "connection")}${refused}; ${size(record.bytes_up)} sent, ${size(record.bytes_down)} received`;
}

/** Connections, with the reason of each refusal, and the names that were refused. */
export function EgressView({ of: record }: { of: EgressRecord }) {
  const { connections, more, refused_names: names, complete } = record;
  const [rows, moreRows] = useFirst(connections, SHOWN, "connections");
  const [shownNames, moreNames] = useFirst(names, SHOWN, "names");
  return (
    <div className={css.parts}>
      {!complete && <Incomplete />}
      {rows.length > 0 && (
        <DataTable
          caption="Connections"
          columns={COLUMNS}
          rows={rows.map((row, at): Row => ({ ...row, number: at }))}
          rowKey={({ number }) => String(number)}
        />
      )}
      {moreRows}
      {more.length > 0 && (
        <>
          <h3>Further connections, by host</h3>
          <HostTable caption="Further connections" of={more} />
        </>
      )}
      {names.length > 0 && (
        <div>
          <h3>Names that were refused</h3>
          <p className={css.facts}>
            The policy has no rule for these names, so the sandbox answered that they do not exist, and asked no server.
          </p>
          <ul className={css.names}>
            {shownNames.map(({ name, queries }) => (
              <li key={name}>
                <HostName of={name} /> <span className={css.times}>{counted(queries, "time")}</span>
              </li>
            ))}
          </ul>
          {moreNames}
        </div>
      )}
    </div>
  );
}

export function Incomplete() {
  return (
    <p className={css.warning}>
      This record is not complete. The part of Assay that forwards connections failed meanwhile: all connections ended
      then, and what was known of them is lost.
    </p>
  );
}
