import { ActionIcon } from "@mantine/core";
import { lazy } from "react";
import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { Icon } from "../../components/icon.tsx";
import { LazyMenu } from "../../components/lazy-menu.tsx";

const load = () => import("./endpoint-actions.tsx");
const EndpointActions = lazy(load);

export function EndpointMenu({ endpoint }: { endpoint: Endpoint }) {
  return (
    <LazyMenu
      load={load}
      button={(handlers) => (
        <ActionIcon
          variant="default"
          size={36}
          aria-haspopup="menu"
          aria-label="Actions for the endpoint"
          {...handlers}
        >
          <Icon name="more" />
        </ActionIcon>
      )}
    >
      <EndpointActions endpoint={endpoint} />
    </LazyMenu>
  );
}
