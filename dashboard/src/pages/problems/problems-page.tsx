import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ProblemRow } from "../../../../src/http/dashboard/api/problems.ts";
import { fetchPage } from "../../client/api.ts";
import { useAccountOptions } from "../../client/session.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { AccountSelect } from "../../components/account-select.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { Page } from "../../components/page.tsx";
import { memoryLimit, timeLimit } from "../../components/problem-limits.ts";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { Faults } from "./faults.tsx";
import { ImportDialog } from "./import-dialog.tsx";

const route = getRouteApi("/inside/problems");

const COLUMNS: readonly Column<ProblemRow>[] = [
  {
    head: "Problem",
    cell: ({ id, name, faults }) => (
      <>
        <Link to="/problems/$id" params={{ id }}>
          {name}
        </Link>{" "}
        {faults.length > 0 && <Faults state="faulty" faults={faults.slice(0, 1)} />}
      </>
    ),
  },
  { head: "Title", cell: ({ title }) => title },
  { head: "Version", number: true, cell: ({ version }) => count(version) },
  { head: "Tests", number: true, cell: ({ tests }) => count(tests) },
  { head: "CPU time", number: true, cell: timeLimit },
  { head: "Memory", number: true, cell: memoryLimit },
  { head: "Updated", cell: ({ updatedAt }) => <Timestamp at={updatedAt} /> },
];

const ACCOUNT: Column<ProblemRow> = { head: "Account", cell: ({ account }) => account.name };

export function ProblemsPage() {
  const { account } = route.useSearch();
  const navigate = route.useNavigate();
  const [importing, { open, close }] = useDisclosure();
  const manyAccounts = useAccountOptions().length > 0;
  const list = usePaginatedQuery(["/problems", account], (before) => fetchPage.problems(account, before), ["settings"]);
  return (
    <Page
      title="Problems"
      lead="A problem has tests, a checker and limits. It is imported from a problem package. A judgement can name a problem instead of tests."
      actions={
        <>
          <AccountSelect value={account} onChange={(next) => navigate({ search: { account: next }, replace: true })} />
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Import a package
          </Button>
        </>
      }
    >
      <QueryBoundary query={list} placeholder={<TableSkeleton />}>
        {(pages) => {
          const problems = pages.flatMap((page) => page.problems);
          return problems.length === 0 ? (
            <EmptyState title="No problems yet">
              Import a package here, send it to <code>POST /api/problems</code> with an API key, or run{" "}
              <code>sudo ./assay problems import</code> (<a href="/docs/judging">documentation</a>).
            </EmptyState>
          ) : (
            <>
              <DataTable
                caption="Problems"
                columns={manyAccounts ? [...COLUMNS.slice(0, 2), ACCOUNT, ...COLUMNS.slice(2)] : COLUMNS}
                rows={problems}
                rowKey={({ id }) => id}
              />
              <LoadMore query={list} />
            </>
          );
        }}
      </QueryBoundary>
      {importing && <ImportDialog onClose={close} />}
    </Page>
  );
}
