import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Icon } from "../../components/icon.tsx";
import { Page } from "../../components/page.tsx";
import { EndpointTable } from "./endpoint-table.tsx";
import { NewEndpointDialog } from "./new-endpoint-dialog.tsx";

export function WebhooksPage() {
  const [making, { open, close }] = useDisclosure();
  return (
    <Page
      title="Webhooks"
      lead="Results of the keys of a project are signed and sent to the endpoints of the project, each in at most three attempts. All attempts are logged."
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          New endpoint
        </Button>
      }
    >
      <EndpointTable onNew={open} />
      {making && <NewEndpointDialog onClose={close} />}
    </Page>
  );
}
