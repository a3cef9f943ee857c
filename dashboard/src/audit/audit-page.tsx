import { getRouteApi } from "@tanstack/react-router";
import type { AuditEntry } from "../../../src/http/dashboard/api/audit.ts";
import { part } from "../api.ts";
import { ChooseAccount } from "../pieces/choose-account.tsx";
import { Copyable } from "../pieces/copyable.tsx";
import { type Column, DataTable, RowsWaiting } from "../pieces/data-table.tsx";
import { More } from "../pieces/more.tsx";
import { Page } from "../pieces/page.tsx";
import { useParts } from "../pieces/parts.ts";
import { Empty, QueryBoundary } from "../pieces/query-boundary.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import css from "./audit.module.css";

const route = getRouteApi("/inside/audit");

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: "When", cell: ({ at }) => <Timestamp at={at} /> },
  { head: "Who", cell: ({ actor }) => actor },
  { head: "What", cell: ({ action }) => <code>{action}</code> },
  { head: "Of what", cell: ({ subject }) => <Copyable text={subject} what="subject" short /> },
  { head: "From", cell: ({ address }) => address ?? "not known" },
  { head: "Detail", cell: ({ detail }) => <Detail of={detail} /> },
];

export function AuditPage() {
  const { account } = route.useSearch();
  const navigate = route.useNavigate();
  const parts = useParts(["/audit", account], (before) => part.audit(account, before));
  return (
    <Page
      title="Audit trail"
      lead="Changes, sign-ins, and reads of programs of other accounts by administrators. Each change and its entry are one transaction."
      actions={
        <ChooseAccount value={account} onChange={(next) => navigate({ search: { account: next }, replace: true })} />
      }
    >
      <QueryBoundary query={parts} waiting={<RowsWaiting rows={10} />}>
        {(pages) => {
          const entries = pages.flatMap((page) => page.entries);
          return entries.length === 0 ? (
            <Empty title="No entries yet" />
          ) : (
            <>
              <DataTable caption="Entries, newest first" columns={COLUMNS} rows={entries} rowKey={placeOf} />
              <More query={parts} />
            </>
          );
        }}
      </QueryBoundary>
    </Page>
  );
}

function placeOf({ at, subject, action, detail }: AuditEntry): string {
  return `${at} ${action} ${subject} ${JSON.stringify(detail)}`;
}

function Detail({ of: detail }: { of: AuditEntry["detail"] }) {
  const entries = Object.entries(detail);
  if (entries.length === 0) return <span>none</span>;
  return (
    <span className={css.detail}>
      {entries.map(([name, value]) => (
        <span key={name}>
          {name} <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>
        </span>
      ))}
    </span>
  );
}
