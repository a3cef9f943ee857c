import { ActionIcon, Menu, NativeSelect } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Endpoint, EndpointChanges } from "../../../../src/http/dashboard/api/endpoints.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { useAction } from "../../components/use-action.ts";
import { RotateSecretDialog } from "./rotate-secret-dialog.tsx";
import { SIGNINGS } from "./signings.ts";

interface Props {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
}

const ACTS = { pause: Pause, signing: ChangeSigning, rotate: RotateSecretDialog, remove: Remove } as const;

/** The menu of actions that change or remove an endpoint. Each action opens a dialog first. */
export default function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
  const [act, setAct] = useState<keyof typeof ACTS | null>(null);
  const Act = act && ACTS[act];
  return (
    <>
      <Menu defaultOpened returnFocus>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="Actions for the endpoint">
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setAct("pause")}>
            {endpoint.active ? "Pause endpoint" : "Resume endpoint"}
          </Menu.Item>
          <Menu.Item onClick={() => setAct("signing")}>Change signing</Menu.Item>
          <Menu.Item onClick={() => setAct("rotate")}>Rotate secret</Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red" onClick={() => setAct("remove")}>
            Remove endpoint
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {Act && <Act endpoint={endpoint} onClose={() => setAct(null)} />}
    </>
  );
}

function Pause({ endpoint: { id, active }, onClose }: Props) {
  const changing = useAction(() => mutations.endpoint(id, { active: !active }), {
    toast: (now) => (now.active ? "Endpoint resumed." : "Endpoint paused."),
    done: onClose,
  });
  return (
    <Question
      title={active ? "Pause this endpoint?" : "Resume this endpoint?"}
      submit={active ? "Pause endpoint" : "Resume endpoint"}
      danger={active}
      action={changing}
      onClose={onClose}
    >
      <p>
        {active
          ? "Results of submissions and judgements that end while the endpoint is paused are sent neither now nor later. Pending deliveries fail; you can replay them after you resume the endpoint."
          : "From now on, results are sent again. Results from the time of the pause are not sent."}
      </p>
    </Question>
  );
}

function ChangeSigning({ endpoint: { id, signing }, onClose }: Props) {
  const changing = useAction((form: FormData) => mutations.endpoint(id, { signing: signingIn(form) }), {
    toast: (now) => `Signing changed to ${now.signing}.`,
    done: onClose,
  });
  return (
    <Dialog title="Change signing" onClose={onClose}>
      <Form
        submit="Change signing"
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={(form) => changing.mutate(form)}
      >
        <p>
          The change applies from the next attempt on. Receivers that still expect the previous signing reject
          deliveries.
        </p>
        <NativeSelect label="Signing" name="signing" data={SIGNINGS} defaultValue={signing} data-autofocus />
      </Form>
    </Dialog>
  );
}

function signingIn(form: FormData): NonNullable<EndpointChanges["signing"]> {
  return text(form, "signing") === "raw" ? "raw" : "standard";
}

function Remove({ endpoint: { id, url }, onClose }: Props) {
  const navigate = useNavigate();
  const removing = useAction(
    async () => {
      await mutations.removeEndpoint(id);
      // Leaves the page first, because the page would request the removed endpoint again.
      await navigate({ to: "/webhooks", replace: true });
    },
    { toast: () => "Endpoint removed." },
  );
  return (
    <Question title="Remove this endpoint?" submit="Remove endpoint" danger action={removing} onClose={onClose}>
      <p>
        No result is sent to <b>{url}</b> any more, and pending deliveries fail. Deliveries stay on record, and the page
        of each submission still shows them. This cannot be undone. To stop for a while, pause the endpoint instead.
      </p>
    </Question>
  );
}

interface QuestionProps {
  readonly title: string;
  readonly submit: string;
  readonly danger: boolean;
  readonly action: { readonly isPending: boolean; readonly error: Error | null; readonly mutate: () => void };
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function Question({ title, submit, danger, action, onClose, children }: QuestionProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        submit={submit}
        danger={danger}
        busy={action.isPending}
        error={action.error}
        onCancel={onClose}
        onSubmit={() => action.mutate()}
      >
        {children}
      </Form>
    </Dialog>
  );
}
