import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { isNotFound, queries } from "../../client/api.ts";
import { UsageOverTime } from "../../components/charts/usage-over-time.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { LatestRuns } from "../../lists/latest-runs.tsx";
import { DeliveryLog } from "./delivery-log.tsx";
import { EndpointMenu } from "./endpoint-menu.tsx";
import { FailureNotice } from "./failing-endpoints.tsx";
import { RecentDeliveries } from "./recent-deliveries.tsx";
import { ReplayFailedDialog } from "./replay-failed-dialog.tsx";
import { SendTestButton } from "./send-test-button.tsx";
import { SIGNINGS } from "./signings.ts";

const route = getRouteApi("/inside/webhooks/$id");

export function EndpointPage() {
  const { id } = route.useParams();
  const endpoint = useQuery(queries.endpoint(id));
  if (isNotFound(endpoint.error)) return <NotFoundPage />;
  return (
    <QueryBoundary query={endpoint} placeholder={<TableSkeleton />}>
      {(found) => <EndpointView endpoint={found} />}
    </QueryBoundary>
  );
}

function EndpointView({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, active, signing, project, failingSince } = endpoint;
  const [replaying, replay] = useDisclosure();
  return (
    <Page
      title="Webhook endpoint"
      lead={<Copyable text={url} what="URL of the endpoint" />}
      actions={
        <>
          <SendTestButton id={id} />
          <EndpointMenu endpoint={endpoint} />
        </>
      }
    >
      {failingSince && (
        <FailureNotice>
          Deliveries fail: the first failure was <Timestamp at={failingSince} />. Correct the receiver, send a test,
          then replay the failed deliveries.
        </FailureNotice>
      )}
      <DescriptionList
        of={[
          [
            "State",
            <StatusBadge key="state" tone={active ? "good" : "idle"}>
              {active ? "active" : "paused"}
            </StatusBadge>,
          ],
          ["Newest deliveries", <RecentDeliveries key="recent" of={endpoint.recent} />],
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
      <UsageOverTime of={{ endpoint: id, ofProject: project.id }} />
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
      {replaying && <ReplayFailedDialog id={id} onClose={replay.close} />}
    </Page>
  );
}
