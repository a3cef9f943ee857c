import { NativeSelect } from "@mantine/core";
import { fetchPage, MAX_OPTIONS } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { LoadMoreOptions } from "../../components/load-more.tsx";

interface Props {
  readonly value: string | undefined;
  readonly onChange: (id: string | undefined) => void;
  /** Only projects of this account. */
  readonly account?: string | undefined;
}

/** Selects one project or all projects, of the accounts of the person. */
export function ProjectFilter({ value, onChange, account }: Props) {
  const projects = usePaginatedQuery(["/projects", "any", MAX_OPTIONS], (before) =>
    fetchPage.projects("any", before, MAX_OPTIONS),
  );
  const all = projects.data?.flatMap((page) => page.projects) ?? [];
  const found = account === undefined ? all : all.filter((project) => project.account.id === account);
  const options = found.map(({ id, name }) => ({ value: id, label: name }));
  // A value from the URL stays selected, even if it is none of the options.
  const isUnknown = value !== undefined && !found.some(({ id }) => id === value);
  return (
    <div>
      <NativeSelect
        aria-label="Project"
        value={value ?? ""}
        onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
        data={[
          { value: "", label: "All projects" },
          ...options,
          ...(isUnknown ? [{ value, label: value.slice(0, 8) }] : []),
        ]}
      />
      <LoadMoreOptions query={projects} shown={all.length} what="projects" />
    </div>
  );
}
