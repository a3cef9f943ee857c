import { NativeSelect, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Endpoint } from "../../../src/http/dashboard/api/endpoints.ts";
import { asking, change, isNotThere } from "../api.ts";
import { Confirm } from "../pieces/confirm.tsx";
import { Copyable } from "../pieces/copyable.tsx";
import { RowsWaiting } from "../pieces/data-table.tsx";
import { Facts } from "../pieces/facts.tsx";
import { NotFoundPage } from "../pieces/not-found-page.tsx";
import { Page, Section } from "../pieces/page.tsx";
import { QueryBoundary } from "../pieces/query-boundary.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { useAction } from "../pieces/use-action.ts";
import { LatestRuns } from "../use/latest-runs.tsx";
import { UseOverTime } from "../use/use-over-time.tsx";
import { DeliveryLog } from "./delivery-log.tsx";
import { Recent } from "./recent.tsx";
import { RotateSecret } from "./rotate-secret.tsx";
import { SIGNINGS } from "./signings.ts";
import { TestSend } from "./test-send.tsx";

const route = getRouteApi("/inside/webhooks/$id");

export function EndpointPage() {
  const { id } = route.useParams();
  const endpoint = useQuery(asking.endpoint(id));
  if (isNotThere(endpoint.error)) return <NotFoundPage />;
  return (
    <QueryBoundary query={endpoint} waiting={<RowsWaiting />}>
      {(found) => <One endpoint={found} />}
    </QueryBoundary>
  );
}

function One({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, active, signing, project } = endpoint;
  const navigate = useNavigate();
  const changing = useAction((changes: Parameters<typeof change.endpoint>[1]) => change.endpoint(id, changes), {
    toast: (now) => `Saved: deliveries ${now.active ? "on" : "off"}, signing ${now.signing}.`,
  });
  return (
    <Page
      title="Webhook endpoint"
      lead={<Copyable text={url} what="URL of the endpoint" />}
      actions={<TestSend id={id} />}
    >
      <Facts
        of={[
          [
            "Deliveries",
            <Switch
              key="active"
              label={active ? "on: results are sent" : "off: nothing is sent, and pending deliveries fail"}
              checked={active}
              disabled={changing.isPending}
              onChange={({ currentTarget }) => changing.mutate({ active: currentTarget.checked })}
            />,
          ],
          [
            "Signing",
            <NativeSelect
              key="signing"
              aria-label="Signing"
              data={SIGNINGS}
              value={signing}
              disabled={changing.isPending}
              onChange={({ currentTarget }) => changing.mutate({ signing: currentTarget.value as Endpoint["signing"] })}
            />,
          ],
          [
            "Project",
            <Link key="project" to="/projects/$id" params={{ id: project.id }}>
              {project.name}
            </Link>,
          ],
          ["Newest deliveries", <Recent key="recent" of={endpoint.recent} />],
          ["Created", <Timestamp key="made" at={endpoint.createdAt} />],
          ["Id", <Copyable key="id" text={id} what="id of the endpoint" />],
        ]}
      />
      {changing.error && <p role="alert">{changing.error.message}</p>}
      <UseOverTime of={{ endpoint: id, ofProject: project.id }} />
      <Section
        title="Deliveries"
        actions={
          <>
            <RotateSecret of={endpoint} />
            <Confirm
              label="Replay failed"
              title="Replay failed deliveries?"
              act={() => change.replayFailed(id)}
              said="Replaying failed deliveries."
              harmless
            >
              Sends each result again whose newest delivery to this endpoint failed, 500 at most. Results with a pending
              delivery are skipped.
            </Confirm>
            <Confirm
              label="Remove"
              title="Remove this endpoint?"
              act={() => change.removeEndpoint(id)}
              said={`${url} removed.`}
              done={() => navigate({ to: "/webhooks", replace: true })}
            >
              No result is sent there any more. This cannot be undone. To pause deliveries, switch the endpoint off
              instead.
            </Confirm>
          </>
        }
      >
        <DeliveryLog endpoint={id} />
      </Section>
      <LatestRuns of={{ project: project.id }} title="Latest runs of the project" />
    </Page>
  );
}
