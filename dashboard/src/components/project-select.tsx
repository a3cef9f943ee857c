import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { fetchPage, MAX_OPTIONS, queries } from "../client/api.ts";
import { usePaginatedQuery } from "../client/use-paginated-query.ts";
import { LoadMoreOptions } from "./load-more.tsx";

/**
 * The projects to choose from in a form.
 * @param projectId The only choice. If it is undefined, the open projects are the choices, the newest first.
 * @returns the choices, and the query that loads more of them; null if there is only one choice.
 */
export function useOpenProjects(projectId: string | undefined) {
  const parts = usePaginatedQuery(["/projects", "open", MAX_OPTIONS], (before) =>
    fetchPage.projects("open", before, MAX_OPTIONS),
  );
  const { data: only } = useQuery({ ...queries.project(projectId ?? ""), enabled: projectId !== undefined });
  if (projectId !== undefined) return { open: only ? [only] : [], parts: null };
  return { open: parts.data?.flatMap(({ projects }) => projects) ?? [], parts };
}

interface Props {
  readonly from: ReturnType<typeof useOpenProjects>;
  readonly description?: ReactNode;
  /** Whether the last choice is "No project", which has an empty value. */
  readonly none?: boolean;
  readonly value?: string;
  readonly onChange?: (id: string) => void;
}

/** The field `project` of a form. */
export function ProjectSelect({ from: { open, parts }, description, none = false, value, onChange }: Props) {
  const projects = open.map(({ id, name, account }) => ({ value: id, label: `${name} (${account.name})` }));
  return (
    <div>
      <NativeSelect
        label="Project"
        description={description}
        name="project"
        data={none ? [...projects, { value: "", label: "No project" }] : projects}
        {...(value !== undefined && { value })}
        {...(onChange && { onChange: ({ currentTarget }) => onChange(currentTarget.value) })}
      />
      {parts && <LoadMoreOptions query={parts} shown={open.length} what="projects" />}
    </div>
  );
}
