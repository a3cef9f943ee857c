import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { UsageSample } from "../../../../src/domain/sandboxes/usage.ts";
import type { SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { isNotFound, mutations, queries } from "../../client/api.ts";
import { useAccountOptions } from "../../client/session.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { duration, size } from "../../components/format.ts";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { PlainText } from "../../components/program-text.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { EvidenceTable } from "../../run/evidence.tsx";
import { Commands } from "./commands.tsx";
import { ExecutionTable } from "./execution-table.tsx";
import { ExecutionView } from "./execution-view.tsx";
import { Files } from "./files.tsx";
import { Metadata } from "./metadata.tsx";
import { Network } from "./network.tsx";
import { SnapshotDialog, TimesDialog } from "./sandbox-dialogs.tsx";
import css from "./sandboxes.module.css";
import { StateBadge } from "./state-badge.tsx";
import { Terminals } from "./terminals.tsx";
import { UseCurve } from "./use-curve.tsx";
import { useLiveSandbox } from "./use-live-sandbox.ts";
import { UseNow } from "./use-now.tsx";

const route = getRouteApi("/inside/sandboxes/$id");

export function SandboxPage() {
  const { id } = route.useParams();
  // The key resets the state when another sandbox is shown.
  return <SandboxView key={id} id={id} />;
}

function SandboxView({ id }: { id: string }) {
  const { query, samples } = useLiveSandbox(id);
  const { data } = query;
  if (isNotFound(query.error) && !data) return <NotFoundPage />;
  return (
    <Page
      title={`Sandbox ${id.slice(0, 8)}`}
      lead={
        <>
          Sandbox <Copyable text={id} what="id of the sandbox" />
        </>
      }
      actions={data && data.row.state !== "ended" && <Actions of={data} />}
    >
      <QueryBoundary query={query} placeholder={<TableSkeleton rows={12} />}>
        {(detail) => <Detail of={detail} samples={samples} />}
      </QueryBoundary>
    </Page>
  );
}

function Actions({ of: detail }: { of: SandboxDetail }) {
  const { id, state } = detail.row;
  const queryClient = useQueryClient();
  const change = async (verb: "pause" | "resume" | "end") => {
    const detail = await mutations.changeSandbox(id, verb);
    queryClient.setQueryData(queries.sandbox(id).queryKey, detail);
    // The page then shows no files of a sandbox that refuses to list them, before its queries are repeated.
    await new Promise((resolve) => setTimeout(resolve));
    return detail;
  };
  const [shown, show] = useState<"times" | "snapshot">();
  const close = () => show(undefined);
  return (
    <>
      {state !== "creating" && (
        <>
          <Button variant="default" size="sm" onClick={() => show("snapshot")}>
            Take a snapshot
          </Button>
          <Button variant="default" size="sm" onClick={() => show("times")}>
            Change times
          </Button>
        </>
      )}
      {shown === "times" && <TimesDialog of={detail} onClose={close} />}
      {shown === "snapshot" && <SnapshotDialog of={detail} onClose={close} />}
      {state === "running" && (
        <ConfirmButton
          label="Pause"
          submit="Pause sandbox"
          title="Pause this sandbox?"
          act={() => change("pause")}
          successMessage="Sandbox paused."
          button={{ size: "sm" }}
          harmless
        >
          All of its programs are frozen, and requests for executions and files are refused until it is resumed. Its
          lifetime goes on.
        </ConfirmButton>
      )}
      {state === "paused" && (
        <ConfirmButton
          label="Resume"
          submit="Resume sandbox"
          title="Resume this sandbox?"
          act={() => change("resume")}
          successMessage="Sandbox resumed."
          button={{ size: "sm" }}
          harmless
        >
          All of its programs continue.
        </ConfirmButton>
      )}
      <ConfirmButton
        label="End"
        submit="End sandbox"
        title="End this sandbox?"
        act={() => change("end")}
        successMessage="Sandbox ended."
        button={{ size: "sm" }}
      >
        All of its programs are killed, and its files are deleted. Its records stay. This cannot be undone.
      </ConfirmButton>
    </>
  );
}

function Detail({ of: detail, samples }: { of: SandboxDetail; samples: readonly UsageSample[] }) {
  const { row, limits, lifetimeSecs, idleSecs, from, onTimeout, lastSnapshot, proofs, executions } = detail;
  const { execution: selected } = route.useSearch();
  const manyAccounts = useAccountOptions().length > 0;
  const navigate = useNavigate();
  /** The execution that a person has chosen on this page, which then gets the focus. */
  const [asked, ask] = useState<number>();
  const select = (number: number | undefined) => {
    ask(number);
    void navigate({
      to: "/sandboxes/$id",
      params: { id: row.id },
      search: { execution: number },
      replace: true,
      resetScroll: false,
    });
  };
  return (
    <>
      {/* Announced by screen readers when it changes. */}
      <p role="status" className={css.state}>
        <StateBadge of={row.state} />
        {row.ended !== null && (
          <span>
            It ended <Timestamp at={row.endedAt} />: {row.ended}.
          </span>
        )}
        {row.state === "paused" && <span>Its programs are frozen.</span>}
        {row.state === "creating" && <span>Its box is being made.</span>}
      </p>
      <DescriptionList
        of={[
          [
            "Key",
            <Link key="key" to="/keys/$id" params={{ id: row.key.id }}>
              {row.key.name}
            </Link>,
          ],
          [
            "Project",
            row.project ? (
              <Link key="project" to="/projects/$id" params={{ id: row.project.id }}>
                {row.project.name}
              </Link>
            ) : (
              "none"
            ),
          ],
          ...(manyAccounts ? [["Account", row.account.name] as const] : []),
          ["Metadata", <Metadata key="metadata" of={row.metadata} />],
          ["Created", <Timestamp key="created" at={row.createdAt} />],
          [
            "Lifetime",
            <span key="lifetime">
              {duration(lifetimeSecs * 1000)}
              {row.endedAt === null && row.expiresAt !== null && (
                <>
                  , over <Timestamp at={row.expiresAt} />
                </>
              )}
            </span>,
          ],
          ["Idle time", duration(idleSecs * 1000)],
          ["Files", limits.storage === "disk" ? `on a disk of ${size(limits.diskBytes)}` : "in memory"],
          ...(from === null
            ? []
            : [["Began with", <Copyable key="from" text={from} what="id of the snapshot" short />] as const]),
          ["When its time is over", onTimeout === "snapshot" ? "a snapshot is taken" : "its files are deleted"],
          ...(lastSnapshot.id === null && lastSnapshot.error === null
            ? []
            : [["Last snapshot", <LastSnapshot key="last" of={lastSnapshot} />] as const]),
        ]}
      />
      {row.state !== "ended" && <Commands id={row.id} />}
      {row.state !== "ended" && (
        <Section title="Now">
          <UseNow of={detail} />
        </Section>
      )}
      <Section title="Usage over its life">
        <div className={css.card}>
          <UseCurve of={samples} limits={limits} />
        </div>
      </Section>
      {row.state !== "ended" && row.state !== "creating" && (
        <>
          <Section title="Terminal">
            <Terminals of={detail} />
          </Section>
          <Section title="Files">
            <Files sandboxId={row.id} isPaused={row.state === "paused"} />
          </Section>
        </>
      )}
      <Section title="Network">
        <Network of={detail} />
      </Section>
      <Section title="Executions">
        <ExecutionTable of={detail} onSelect={select} />
        {selected !== undefined && (
          <ExecutionView
            key={selected}
            sandboxId={row.id}
            number={selected}
            isAsked={selected === asked}
            onClose={() => select(undefined)}
          />
        )}
        {selected === undefined && executions.executions.length > 0 && (
          <p className={css.hint}>Choose the number of an execution to see its output and its evidence.</p>
        )}
      </Section>
      <Section title={row.state === "ended" ? "Evidence of the box and its teardown" : "Evidence of the box"}>
        <EvidenceTable of={proofs} />
        {row.state === "ended" && !proofs.some(({ field }) => field.startsWith("teardown.")) && (
          <p className={css.hint}>There is no evidence of the teardown, because the box was lost or was never ready.</p>
        )}
      </Section>
    </>
  );
}

/** The snapshot that was taken at the end of the time of a sandbox, or why there is none. */
function LastSnapshot({ of: { id, error } }: { of: SandboxDetail["lastSnapshot"] }) {
  if (id !== null) return <Copyable text={id} what="id of the last snapshot" short />;
  return (
    <span>
      could not be taken: <PlainText text={error ?? ""} />
    </span>
  );
}
