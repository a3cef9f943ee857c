import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { change } from "../api.ts";
import { Editor } from "../editor/editor.tsx";
import { Copyable } from "../pieces/copyable.tsx";
import { RowsWaiting } from "../pieces/data-table.tsx";
import { Facts } from "../pieces/facts.tsx";
import { Page, Section } from "../pieces/page.tsx";
import { Empty, QueryBoundary } from "../pieces/query-boundary.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { toast } from "../pieces/toaster.tsx";
import log from "../webhooks/delivery-log.module.css";
import { OneDelivery } from "../webhooks/one-delivery.tsx";
import { Explained, Standing } from "./explained.tsx";
import { Output } from "./output.tsx";
import { Outputs } from "./outputs.tsx";
import { Proven } from "./proven.tsx";
import { RawRecord } from "./raw-record.tsx";
import css from "./submission.module.css";
import { Timeline } from "./timeline.tsx";
import { UsageCurve } from "./usage-curve.tsx";
import { Used } from "./used.tsx";
import { useWatched } from "./watched.ts";

const route = getRouteApi("/inside/submissions/$id");

export function SubmissionPage() {
  const { id } = route.useParams();
  // The key resets the state when the submission changes.
  return <OneSubmission key={id} id={id} />;
}

function OneSubmission({ id }: { id: string }) {
  const navigate = useNavigate();
  const { query, live } = useWatched(id);
  const again = useMutation({
    mutationFn: () => change.again(id),
    onSuccess: (accepted) => {
      toast("Started again as this new submission.");
      return navigate({ to: "/submissions/$id", params: { id: accepted.id } });
    },
    onError: ({ message }) => toast(`Not run again: ${message}.`, "bad"),
  });
  return (
    <Page
      title={`Submission ${id.slice(0, 8)}`}
      lead={<Copyable text={id} what="id of the submission" />}
      actions={
        <>
          <Button variant="default" loading={again.isPending} onClick={() => again.mutate()}>
            Run again
          </Button>
          <Button variant="default" onClick={() => navigate({ to: "/playground", search: { from: id } })}>
            Open in the playground
          </Button>
        </>
      }
    >
      <QueryBoundary query={query} waiting={<RowsWaiting rows={14} />}>
        {(detail) => <Detail of={detail} live={live} />}
      </QueryBoundary>
    </Page>
  );
}

function Detail({ of: detail, live }: { of: SubmissionDetail; live: ReturnType<typeof useWatched>["live"] }) {
  const now = live.status ? { ...detail, row: { ...detail.row, status: live.status } } : detail;
  const { row, run, code, stdin, attempts, timeline, usage, samples, proofs, deliveries } = now;
  return (
    <>
      {run && (
        <p className={css.run}>
          The run of{" "}
          <Link to="/judgements/$id" params={{ id: run.judgementId }} search={{ test: run.test + 1 }}>
            test {run.test + 1} of judgement {run.judgementId.slice(0, 8)}
          </Link>
        </p>
      )}
      <div className={css.explained}>
        <Standing of={now} />
        <Explained of={now} />
      </div>
      <Section title="Output">
        <Outputs of={now} live={live} />
      </Section>
      <div className={css.pair}>
        <Section title="Timeline">
          <div className={css.card}>
            <Timeline of={timeline} />
          </div>
        </Section>
        {usage.length > 0 && (
          <Section title="Limits and usage">
            <div className={css.card}>
              <Used of={usage} />
            </div>
          </Section>
        )}
      </div>
      {samples && (
        <Section title="Use over time">
          <UsageCurve of={samples} />
        </Section>
      )}
      <Section title="Program">
        <div className={css.program}>
          <div className={css.source}>
            <h3>Source</h3>
            <Editor text={code} language={row.language} label="Source of the program" readOnly />
          </div>
          <Output name="Standard input" text={stdin} nothing="No input." />
        </div>
      </Section>
      <Section title="Details">
        <Facts
          of={[
            ["Language", row.language],
            ["Profile", row.profile],
            ["Account", row.account.name],
            ["Project", row.project?.name ?? "none"],
            ["Key", row.key.name],
            ["Accepted", <Timestamp key="accepted" at={row.createdAt} />],
            ["Started", <Timestamp key="begun" at={row.startedAt} never="not yet" />],
            ["Ended", <Timestamp key="ended" at={row.completedAt} never="not yet" />],
            ["Attempts", String(attempts)],
          ]}
        />
      </Section>
      {row.completedAt && (
        <Section title="Evidence">
          <Proven of={proofs} />
        </Section>
      )}
      <Section title="Deliveries">
        {deliveries.length === 0 ? (
          <Empty title="No deliveries">The project has no webhook endpoint, or the run has not ended.</Empty>
        ) : (
          <ol className={log.log}>
            {deliveries.map((delivery) => (
              <OneDelivery key={delivery.id} of={delivery} />
            ))}
          </ol>
        )}
      </Section>
      <Section title="Raw record">
        <RawRecord of={now} />
      </Section>
    </>
  );
}
