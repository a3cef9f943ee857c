import { ActionIcon, Menu } from "@mantine/core";
import { useState } from "react";
import type { KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { Icon } from "../../components/icon.tsx";
import { LimitsDialog } from "./limits-dialog.tsx";
import { RevokeDialog } from "./revoke-dialog.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";

const ACTS = { limits: LimitsDialog, rotate: RotateDialog, revoke: RevokeDialog } as const;

export default function KeyActions({ apiKey: key }: { apiKey: KeyResource }) {
  const [act, setAct] = useState<keyof typeof ACTS | null>(null);
  const Act = act && ACTS[act];
  return (
    <>
      <Menu defaultOpened returnFocus>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${key.name}`}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setAct("limits")}>Change limits</Menu.Item>
          <Menu.Item onClick={() => setAct("rotate")}>Rotate key</Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red" onClick={() => setAct("revoke")}>
            Revoke key
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {Act && <Act apiKey={key} onClose={() => setAct(null)} />}
    </>
  );
}
