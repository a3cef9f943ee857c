import { NativeSelect } from "@mantine/core";
import { CHOICES, part } from "../client/api.ts";
import { useParts } from "../client/use-paginated-query.ts";
import { Older } from "./older.tsx";

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
export function ProblemChoice({ account, none, value, onChange }: Props) {
  const parts = useParts(["/problems", account, CHOICES], (before) => part.problems(account, before, CHOICES));
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
      <Older of={parts} shown={problems.length} what="problems" />
    </div>
  );
}
