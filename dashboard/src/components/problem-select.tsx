import { NativeSelect } from "@mantine/core";
import { fetchPage, MAX_OPTIONS } from "../client/api.ts";
import { usePaginatedQuery } from "../client/use-paginated-query.ts";
import { LoadMoreOptions } from "./load-more.tsx";

interface Props {
  /** Id of the account whose problems are listed; undefined: all accounts of the person. */
  readonly account?: string | undefined;
  /** Label of the option that selects no problem. */
  readonly none: string;
  /** Id of the selected problem; empty if none is selected. */
  readonly value: string;
  readonly onChange: (id: string) => void;
}

/** Selects a problem. At first, only the newest are listed; a button lists more. */
export function ProblemSelect({ account, none, value, onChange }: Props) {
  const parts = usePaginatedQuery(["/problems", account, MAX_OPTIONS], (before) =>
    fetchPage.problems(account, before, MAX_OPTIONS),
  );
  const problems = parts.data?.flatMap((page) => page.problems) ?? [];
  const options = problems.map(({ id, name }) => ({ value: id, label: name }));
  // A value from the URL stays selected, even if it is none of the options.
  const chosen = value !== "" && !problems.some(({ id }) => id === value) ? [{ value, label: value }] : [];
  return (
    <div>
      <NativeSelect
        label="Problem"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        data={[{ value: "", label: none }, ...options, ...chosen]}
      />
      <LoadMoreOptions query={parts} shown={problems.length} what="problems" />
    </div>
  );
}
