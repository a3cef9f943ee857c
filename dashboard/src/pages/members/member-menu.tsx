import { ActionIcon, Menu } from "@mantine/core";
import { useState } from "react";
import type { Member } from "../../../../src/http/dashboard/api/members.ts";
import { usePerson } from "../../client/session.ts";
import { Icon } from "../../components/icon.tsx";
import { AccessDialog } from "./access-dialog.tsx";
import { DisableDialog } from "./disable-dialog.tsx";
import { ResetDialog } from "./reset-dialog.tsx";

const ACTS = { access: AccessDialog, reset: ResetDialog, disable: DisableDialog } as const;

export function MemberMenu({ member }: { member: Member }) {
  const me = usePerson();
  const [act, setAct] = useState<keyof typeof ACTS | null>(null);
  const Act = act && ACTS[act];
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${member.name}`}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setAct("access")}>Change access</Menu.Item>
          <Menu.Item onClick={() => setAct("reset")}>Reset password</Menu.Item>
          {member.id !== me.id && (
            <Menu.Item color={member.disabledAt ? "teal" : "red"} onClick={() => setAct("disable")}>
              {member.disabledAt ? "Enable" : "Disable"}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {Act && <Act member={member} onClose={() => setAct(null)} />}
    </>
  );
}
