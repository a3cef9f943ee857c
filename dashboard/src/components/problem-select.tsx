import { NativeSelect } from "@mantine/core";
import { fetchPage, MAX_OPTIONS } from "../client/api.ts";
import { usePaginatedQuery } from "../client/use-paginated-query.ts";
import { LoadMoreOptions } from "./load-more.tsx";

interface Props {
  /** The account of the problems; undefined: all accounts of the person. */
  readonly account?: string | undefined;
  /** The option without a problem. */
  readonly none: string;
  /** An id; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
}

/** Selects one of the newest problems. */
export function ProblemSelect({ account, none, value, onChange }: Props) {
  const parts = usePaginatedQuery(["/problems", account, MAX_OPTIONS], (before) =>
    fetchPage.problems(account, before, MAX_OPTIONS),
  );
  const problems = parts.data?.flatMap((page) => page.problems) ?? [];
  const options = problems.map(({ id, name }) => ({ value: id, label: name }));
  // A value from the URL stays selected, even if it is not in the list.
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
