import { Button } from "@mantine/core";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { JudgementDetail, JudgementRow } from "../../../../src/http/dashboard/api/judgements.ts";
import { isNotFound, mutations } from "../../client/api.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { Editor } from "../../components/editor/editor.tsx";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { useAction } from "../../components/use-action.ts";
import { checkerSummary } from "../../judgement/checker-summary.ts";
import { firstFailure, JudgementSummary, summaryOf } from "../../judgement/summary.tsx";
import { TestGrid } from "../../judgement/test-grid.tsx";
import { TestTable } from "../../judgement/test-table.tsx";
import { TestView } from "../../judgement/test-view.tsx";
import { isOpen, useLiveJudgement } from "../../judgement/use-live-judgement.ts";
import css from "./judgement.module.css";

const route = getRouteApi("/inside/judgements/$id");

export function JudgementPage() {
  const { id } = route.useParams();
  // The key resets the state when another judgement is shown.
  return <JudgementView key={id} id={id} />;
}

function JudgementView({ id }: { id: string }) {
  const navigate = useNavigate();
  const query = useLiveJudgement(id);
  const { data } = query;
  const again = useAction(() => mutations.rejudge(id), {
    toast: () => "The program is judged again: this is the new judgement.",
    done: (accepted) => navigate({ to: "/judgements/$id", params: { id: accepted.id }, search: {} }),
  });
  if (isNotFound(query.error) && !data) return <NotFoundPage />;
  return (
    <Page
      title={data ? summaryOf(data) : "Judgement"}
      lead={
        <>
          Judgement <Copyable text={id} what="id of the judgement" />
        </>
      }
      actions={
        data && (
          <>
            {isOpen(data) && (
              <ConfirmButton
                label="Cancel"
                submit="Cancel judgement"
                title="Cancel this judgement?"
                act={() => mutations.cancelJudgement(id)}
                successMessage="Judgement cancelled."
                button={{ size: "sm" }}
              >
                The runs of the judgement are stopped, and its verdict is IE. This cannot be undone.
              </ConfirmButton>
            )}
            <Button variant="default" loading={again.isPending} onClick={() => again.mutate()}>
              Judge again
            </Button>
          </>
        )
      }
    >
      {again.error && <p role="alert">{`Not judged again: ${again.error.message}.`}</p>}
      <QueryBoundary query={query} placeholder={<TableSkeleton rows={14} />}>
        {(detail) => <Detail of={detail} />}
      </QueryBoundary>
    </Page>
  );
}

function Detail({ of: detail }: { of: JudgementDetail }) {
  const navigate = useNavigate();
  const { test: number } = route.useSearch();
  const { row, tests, checker, stop, source, files } = detail;
  const asked = number === undefined ? undefined : tests[number - 1] && number - 1;
  const selected = asked ?? firstFailure(tests) ?? (tests.length === 1 ? 0 : null);
  const test = selected === null ? undefined : tests[selected];
  const select = (at: number) =>
    navigate({
      to: "/judgements/$id",
      params: { id: row.id },
      search: { test: at + 1 },
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <div className={css.card}>
        <JudgementSummary of={detail} />
        <TestGrid of={detail} selected={selected} onSelect={select} />
        {!test && <p className={css.hint}>Select a test to see its input, its answer and its output.</p>}
      </div>
      {test && selected !== null && (
        <div className={css.card} id="test">
          <TestView key={selected} judgementId={row.id} at={selected} test={test} checker={checker} />
        </div>
      )}
      <Section title="Runs">
        <TestTable of={detail} onSelect={select} />
      </Section>
      <Section title="Program">
        <Editor text={source.text} language={row.language} label="Source of the program" readOnly />
        {files.length > 0 && <p className={css.hint}>Further files: {files.join(", ")}.</p>}
      </Section>
      <Section title="Details">
        <DescriptionList
          of={[
            ["Language", row.language],
            ["Profile", row.profile],
            ["Checker", checkerSummary(checker)],
            ["Stops", STOPS[stop]],
            ...(row.problem ? [["Problem", <ProblemName key="problem" of={row.problem} />] as const] : []),
            ["Account", row.account.name],
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
            ["Key", row.key.name],
            ["Submitted", <Timestamp key="submitted" at={row.createdAt} />],
            ["Ended", <Timestamp key="ended" at={row.completedAt} never="not yet" />],
          ]}
        />
      </Section>
    </>
  );
}

function ProblemName({ of: { id, name, version } }: { of: NonNullable<JudgementRow["problem"]> }) {
  if (name === null) return `deleted, version ${version}`;
  return (
    <>
      <Link to="/problems/$id" params={{ id }}>
        {name}
      </Link>
      {`, version ${version}`}
    </>
  );
}

const STOPS: Readonly<Record<JudgementDetail["stop"], string>> = {
  first_failure: "after the first failure",
  never: "never",
  group: "in a group after its first failure",
};
