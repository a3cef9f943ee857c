import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { JudgementRow } from "../../../../src/http/dashboard/api/judgements.ts";
import type { ProblemDetail, ProblemVersion } from "../../../../src/http/dashboard/api/problems.ts";
import { isNotFound, mutations, queries } from "../../client/api.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { count, counted, size } from "../../components/format.ts";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { memoryLimit, timeLimit } from "../../components/problem-limits.ts";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { checkerSummary } from "../../judgement/checker-summary.ts";
import { judgementSource, ORIGIN_COLUMNS, RESULT_COLUMNS } from "../../lists/judgement-list.tsx";
import { LiveList } from "../../lists/live-list.tsx";
import { Faults } from "./faults.tsx";
import css from "./problem.module.css";
import { VerificationResults } from "./verification-results.tsx";
import { verificationOf } from "./verifications.ts";

const route = getRouteApi("/inside/problems/$id");

/** The judgements on this page. They have no filters, but the page Judgements has. */
const JUDGEMENTS = judgementSource(20);

const JUDGED: readonly Column<JudgementRow>[] = [
  ...RESULT_COLUMNS,
  { head: "Version", number: true, cell: ({ problem }) => count(problem?.version ?? 0) },
  ...ORIGIN_COLUMNS,
];

type Group = ProblemDetail["groups"][number];

const RULES: Readonly<Record<Group["rule"], string>> = {
  sum: "sum",
  min: "smallest share",
  least: "least",
  greatest: "greatest",
  average: "average",
  all: "all or none",
};
const GROUPS: readonly Column<Group>[] = [
  { head: "Group", cell: ({ name }) => name || "none" },
  { head: "Points", number: true, cell: ({ points }) => count(points) },
  { head: "Rule", cell: ({ rule }) => RULES[rule] },
  { head: "Only if these pass", cell: ({ depends }) => depends.join(", ") || "none" },
  { head: "Tests", cell: ({ tests }) => <Names of={tests} /> },
];

export function ProblemPage() {
  const { id } = route.useParams();
  const problem = useQuery(queries.problem(id));
  if (isNotFound(problem.error)) return <NotFoundPage />;
  return (
    <QueryBoundary query={problem} placeholder={<TableSkeleton />}>
      {(found) => <ProblemView problem={found} />}
    </QueryBoundary>
  );
}

function ProblemView({ problem }: { problem: ProblemDetail }) {
  const navigate = useNavigate();
  const { id, name, title, checker, groups, versions, faults } = problem;
  const verification = verificationOf(id);
  const search = useMemo(() => ({ problem: id }), [id]);
  const columns: readonly Column<ProblemVersion>[] = [
    { head: "Version", number: true, cell: ({ version }) => count(version) },
    {
      head: "State",
      cell: ({ version }) =>
        version === problem.version ? (
          <StatusBadge tone="good">current</StatusBadge>
        ) : (
          <StatusBadge tone="idle">earlier</StatusBadge>
        ),
    },
    { head: "Tests", number: true, cell: ({ tests }) => count(tests) },
    { head: "Size", number: true, cell: ({ bytes }) => size(bytes) },
    { head: "CPU time", number: true, cell: timeLimit },
    { head: "Memory", number: true, cell: memoryLimit },
    { head: "Imported", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  ];
  return (
    <Page
      title={title || name}
      lead={
        <>
          Problem <Copyable text={id} what="id of the problem" />
        </>
      }
      actions={
        <>
          <Button variant="default" onClick={() => navigate({ to: "/playground", search: { problem: id } })}>
            Try in the playground
          </Button>
          <ConfirmButton
            label="Delete"
            submit="Delete problem"
            title={`Delete ${name}?`}
            act={async () => {
              await mutations.deleteProblem(id);
              // Leaves the page first, because the page would request the deleted problem again.
              await navigate({ to: "/problems", search: {} });
            }}
            successMessage={`${name} deleted.`}
            button={{ size: "sm" }}
          >
            All versions of the problem are deleted. Its judgements stay with their tests until they expire. This cannot
            be undone.
          </ConfirmButton>
        </>
      }
    >
      <DescriptionList
        of={[
          ["Name", name],
          ...(faults.length > 0
            ? [["State", <Faults key="faults" state="faulty: each judgement ends with IE" faults={faults} />] as const]
            : []),
          ["Account", problem.account.name],
          ["CPU time of a test", timeLimit(problem)],
          ["Memory of a test", memoryLimit(problem)],
          ["Checker", checkerSummary(checker)],
          ["Created", <Timestamp key="created" at={problem.createdAt} />],
          ["Updated", <Timestamp key="updated" at={problem.updatedAt} />],
        ]}
      />
      {verification && <VerificationResults problem={problem} of={verification} />}
      <Section title="Tests">
        <DataTable caption="Tests by group" columns={GROUPS} rows={groups} rowKey={(group) => group.name} />
      </Section>
      <Section title="Versions">
        <DataTable
          caption="Versions, newest first"
          columns={columns}
          rows={versions}
          rowKey={({ version }) => String(version)}
        />
      </Section>
      <Section
        title="Judgements"
        actions={
          <Link to="/judgements" search={search}>
            Search these judgements
          </Link>
        }
      >
        <LiveList source={JUDGEMENTS} search={search} what="judgement" columns={JUDGED} isFiltered={false}>
          Try the problem in the playground, or send a judgement with the id of the problem.
        </LiveList>
      </Section>
    </Page>
  );
}

function Names({ of: tests }: { of: Group["tests"] }) {
  return (
    <details className={css.names}>
      <summary>{counted(tests.length, "test")}</summary>
      {tests.map(({ name, points }) => (points === 0 ? name : `${name} (${count(points)})`)).join(", ")}
    </details>
  );
}
