import { Button, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { Icon } from "../pieces/icon.tsx";
import { Page } from "../pieces/page.tsx";
import { Keys } from "./keys.tsx";
import { NewKey } from "./new-key.tsx";

export function KeysPage() {
  const [making, { open, close }] = useDisclosure();
  const [ended, showEnded] = useState(false);
  return (
    <Page
      title="API keys"
      lead="A client submits with an API key. Each key has a quota of requests in any 60 seconds and a limit of submissions running at once."
      actions={
        <>
          <Switch
            label="Show revoked and expired"
            checked={ended}
            onChange={(e) => showEnded(e.currentTarget.checked)}
          />
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New key
          </Button>
        </>
      }
    >
      <Keys ended={ended} />
      {making && <NewKey onClose={close} />}
    </Page>
  );
}
