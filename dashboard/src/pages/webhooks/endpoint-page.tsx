import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { asking, isNotThere } from "../../client/api.ts";
import { UseOverTime } from "../../components/charts/usage-over-time.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { RowsWaiting } from "../../components/data-table.tsx";
import { Facts } from "../../components/description-list.tsx";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { State } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { LatestRuns } from "../../lists/latest-runs.tsx";
import { DeliveryLog } from "./delivery-log.tsx";
import { EndpointMenu } from "./endpoint-menu.tsx";
import { Fails } from "./failing-endpoints.tsx";
import { Recent } from "./recent-deliveries.tsx";
import { ReplayFailed } from "./replay-failed-dialog.tsx";
import { TestSend } from "./send-test-button.tsx";
import { SIGNINGS } from "./signings.ts";

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
  const { id, url, active, signing, project, failingSince } = endpoint;
  const [replaying, replay] = useDisclosure();
  return (
    <Page
      title="Webhook endpoint"
      lead={<Copyable text={url} what="URL of the endpoint" />}
      actions={
        <>
          <TestSend id={id} />
          <EndpointMenu endpoint={endpoint} />
        </>
      }
    >
      {failingSince && (
        <Fails>
          Deliveries fail: the first failure was <Timestamp at={failingSince} />. Correct the receiver, send a test,
          then replay the failed deliveries.
        </Fails>
      )}
      <Facts
        of={[
          [
            "State",
            <State key="state" tone={active ? "good" : "idle"}>
              {active ? "active" : "paused"}
            </State>,
          ],
          ["Newest deliveries", <Recent key="recent" of={endpoint.recent} />],
          [
            "Project",
            <Link key="project" to="/projects/$id" params={{ id: project.id }}>
              {project.name}
            </Link>,
          ],
          ["Signing", SIGNINGS.find(({ value }) => value === signing)?.label ?? signing],
          ["Created", <Timestamp key="made" at={endpoint.createdAt} />],
          ["Id", <Copyable key="id" text={id} what="id of the endpoint" />],
        ]}
      />
      <UseOverTime of={{ endpoint: id, ofProject: project.id }} />
      <Section
        title="Deliveries"
        actions={
          <Button variant="default" size="compact-sm" disabled={!active} onClick={replay.open}>
            Replay failed
          </Button>
        }
      >
        <DeliveryLog endpoint={id} />
      </Section>
      <LatestRuns of={{ project: project.id }} title="Latest runs of the project" />
      {replaying && <ReplayFailed id={id} onClose={replay.close} />}
    </Page>
  );
}
