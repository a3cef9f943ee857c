import { Link } from "@tanstack/react-router";
import type { JudgementRow } from "../../../src/http/dashboard/api/judgements.ts";
import { part } from "../api.ts";
import type { Column } from "../pieces/data-table.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { count, duration } from "../pieces/words.ts";
import type { Source } from "../submissions/newest.ts";
import css from "../submissions/newest-list.module.css";
import { Verdict } from "../submissions/verdict.tsx";

/** The columns of lists of judgements: those about the result, and those about its origin. */
export const RESULT: readonly Column<JudgementRow>[] = [
  { head: "Verdict", cell: (row) => <Verdict of={row} /> },
  {
    head: "Judgement",
    cell: ({ id }) => (
      <Link to="/judgements/$id" params={{ id }} className={css.id} title={id} data-row>
        {id.slice(0, 8)}
      </Link>
    ),
  },
  { head: "Passed", number: true, cell: ({ passed, total }) => `${count(passed)} of ${count(total)}` },
  { head: "Points", number: true, cell: ({ score }) => (score === null ? "" : count(score)) },
  { head: "Language", cell: ({ language }) => language },
];

export const ORIGIN: readonly Column<JudgementRow>[] = [
  { head: "Project", cell: ({ project }) => project?.name ?? "none" },
  { head: "Key", cell: ({ key }) => key.name },
  { head: "Took", number: true, cell: (row) => took(row) },
  { head: "Accepted", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

/** @param limit rows of a page. */
export function judgementSource(limit: number): Source<JudgementRow> {
  return {
    name: `/judgements by ${limit}`,
    ask: async (search, before) => {
      const { judgements: rows, next } = await part.judgements({ ...search, limit }, before);
      return { rows, next };
    },
  };
}

function took({ createdAt, completedAt }: JudgementRow): string {
  return completedAt ? duration(Date.parse(completedAt) - Date.parse(createdAt)) : "";
}
