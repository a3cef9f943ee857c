import { ActionIcon } from "@mantine/core";
import { lazy } from "react";
import type { KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { Icon } from "../../components/icon.tsx";
import { LazyMenu } from "../../components/lazy-menu.tsx";

const load = () => import("./key-actions.tsx");
const KeyActions = lazy(load);

export function KeyMenu({ apiKey }: { apiKey: KeyResource }) {
  return (
    <LazyMenu
      load={load}
      button={(handlers) => (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-haspopup="menu"
          aria-label={`Actions for ${apiKey.name}`}
          {...handlers}
        >
          <Icon name="more" />
        </ActionIcon>
      )}
    >
      <KeyActions apiKey={apiKey} />
    </LazyMenu>
  );
}
