import type { JudgementRow } from "../../../src/http/dashboard/api/judgements.ts";
import { fetchPage } from "../client/api.ts";
import { count, duration } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Verdict } from "../components/verdict.tsx";
import type { ListColumn } from "./live-list.tsx";
import { RowLink } from "./row-link.tsx";
import type { ListSource } from "./use-live-list.ts";

/** The columns of a list of judgements that are about the program and its result. */
export const RESULT_COLUMNS: readonly ListColumn<JudgementRow>[] = [
  { head: "Verdict", cell: (row) => <Verdict of={row} /> },
  {
    head: "Judgement",
    cell: ({ id }) => <RowLink to="/judgements/$id" id={id} />,
  },
  { head: "Passed", number: true, cell: ({ passed, total }) => `${count(passed)} of ${count(total)}` },
  { head: "Points", number: true, cell: ({ score }) => (score === null ? "" : count(score)) },
  { head: "Language", cell: ({ language }) => language },
];

/** The columns of a list of judgements that are about the origin and the times. */
export const ORIGIN_COLUMNS: readonly ListColumn<JudgementRow>[] = [
  { head: "Project", cell: ({ project }) => project?.name ?? "none" },
  { head: "Key", cell: ({ key }) => key.name },
  { head: "Took", number: true, cell: (row) => took(row) },
  { head: "Submitted", cell: ({ createdAt }) => <Timestamp at={createdAt} />, isOrder: true },
];

/** @param limit Number of rows of a page. */
export function judgementSource(limit: number): ListSource<JudgementRow> {
  return {
    path: "/judgements",
    limit,
    load: async (search, before) => {
      const { judgements: rows, next, mark } = await fetchPage.judgements({ ...search, limit }, before);
      return { rows, next, mark };
    },
  };
}

function took({ createdAt, completedAt }: JudgementRow): string {
  return completedAt ? duration(Date.parse(completedAt) - Date.parse(createdAt)) : "";
}
