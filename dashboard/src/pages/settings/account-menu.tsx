import { ActionIcon, Menu } from "@mantine/core";
import { useState } from "react";
import type { Tier, UsedAccount } from "../../../../src/http/dashboard/api/settings.ts";
import { Icon } from "../../components/icon.tsx";
import { AccountDialog } from "./account-dialog.tsx";
import { DropPendingDialog } from "./drop-pending-dialog.tsx";
import { SuspendDialog } from "./suspend-dialog.tsx";

export function AccountMenu({ of: account, tiers }: { of: UsedAccount; tiers: readonly Tier[] }) {
  const [act, setAct] = useState<"change" | "suspend" | "drop" | null>(null);
  const close = () => setAct(null);
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${account.name}`}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setAct("change")}>Change name or tier</Menu.Item>
          {account.suspendedAt === null ? (
            <Menu.Item color="red" onClick={() => setAct("suspend")}>
              Suspend
            </Menu.Item>
          ) : (
            <Menu.Item onClick={() => setAct("suspend")}>Resume</Menu.Item>
          )}
          <Menu.Item color="red" onClick={() => setAct("drop")}>
            Drop pending submissions
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {act === "change" && <AccountDialog of={account} tiers={tiers} onClose={close} />}
      {act === "suspend" && <SuspendDialog of={account} onClose={close} />}
      {act === "drop" && <DropPendingDialog of={account} onClose={close} />}
    </>
  );
}
