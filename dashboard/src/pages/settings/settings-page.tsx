import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Settings, Tier, UsedAccount } from "../../../../src/http/dashboard/api/settings.ts";
import { queries } from "../../client/api.ts";
import { Copyable } from "../../components/copyable.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { count, duration } from "../../components/format.ts";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { AccountDialog } from "./account-dialog.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { TierDialog } from "./tier-dialog.tsx";

export function SettingsPage() {
  const settings = useQuery(queries.settings());
  const [form, setForm] = useState<ReactNode>(null);
  return (
    <Page title="Settings">
      <QueryBoundary query={settings} placeholder={<TableSkeleton rows={6} />}>
        {(all) => <SettingsTables of={all} show={setForm} />}
      </QueryBoundary>
      {form}
    </Page>
  );
}

function SettingsTables({
  of: { retentionMs, maxPending, tiers, accounts },
  show,
}: {
  of: Settings;
  show: (form: ReactNode) => void;
}) {
  const close = () => show(null);
  const tierColumns: readonly Column<Tier>[] = [
    { head: "Tier", cell: ({ name }) => <b>{name}</b> },
    { head: "Requests in 60 seconds", number: true, cell: (tier) => count(tier.requestsPerMinute) },
    { head: "Running at once", number: true, cell: (tier) => count(tier.concurrency) },
    { head: "Accounts", number: true, cell: ({ name }) => count(accounts.filter(({ tier }) => tier === name).length) },
    {
      head: "Actions",
      headUnseen: true,
      cell: (tier) => (
        <Button size="compact-sm" variant="default" onClick={() => show(<TierDialog of={tier} onClose={close} />)}>
          Change
        </Button>
      ),
    },
  ];
  const accountColumns: readonly Column<UsedAccount>[] = [
    { head: "Account", cell: ({ name }) => <b>{name}</b> },
    {
      head: "State",
      cell: ({ suspendedAt }) => (
        <StatusBadge tone={suspendedAt === null ? "good" : "bad"}>
          {suspendedAt === null ? "active" : "suspended"}
        </StatusBadge>
      ),
    },
    { head: "Tier", cell: ({ tier }) => tier },
    { head: "Pending", number: true, cell: ({ pending }) => count(pending) },
    { head: "Running", number: true, cell: ({ running }) => count(running) },
    { head: "Requests in the last minute", number: true, cell: ({ requests }) => count(requests) },
    { head: "Created", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
    { head: "Id", cell: ({ id }) => <Copyable text={id} what="id of the account" short /> },
    {
      head: "Actions",
      headUnseen: true,
      cell: (account) => <AccountMenu of={account} tiers={tiers} />,
    },
  ];
  return (
    <>
      <DescriptionList
        of={[
          [
            "Records are kept",
            retentionMs === null
              ? "without limit (ASSAY_RETENTION_DAYS)"
              : `${duration(retentionMs)} after their end (ASSAY_RETENTION_DAYS)`,
          ],
          ["Queue", `${count(maxPending)} submissions; a single account can use half of it`],
        ]}
      />
      <Section
        title="Tiers"
        actions={
          <Button size="compact-sm" variant="default" onClick={() => show(<TierDialog onClose={close} />)}>
            New tier
          </Button>
        }
      >
        <DataTable caption="Tiers" columns={tierColumns} rows={tiers} rowKey={({ name }) => name} />
      </Section>
      <Section
        title="Accounts"
        actions={
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => show(<AccountDialog tiers={tiers} onClose={close} />)}
          >
            New account
          </Button>
        }
      >
        <DataTable caption="Accounts" columns={accountColumns} rows={accounts} rowKey={({ id }) => id} />
      </Section>
    </>
  );
}
