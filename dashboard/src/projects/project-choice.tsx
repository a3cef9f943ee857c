import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { asking, CHOICES, part } from "../api.ts";
import { Older } from "../pieces/older.tsx";
import { useParts } from "../pieces/parts.ts";

/** The open projects in a form: only the given one, or the newest ones. */
export function useOpenProjects(projectId: string | undefined) {
  const parts = useParts(["/projects", "open", CHOICES], (before) => part.projects("open", before, CHOICES));
  const { data: only } = useQuery({ ...asking.project(projectId ?? ""), enabled: projectId !== undefined });
  if (projectId !== undefined) return { open: only ? [only] : [], parts: null };
  return { open: parts.data?.flatMap(({ projects }) => projects) ?? [], parts };
}

interface Props {
  readonly from: ReturnType<typeof useOpenProjects>;
  readonly description?: string;
}

/** The field `project` of a form. */
export function ProjectChoice({ from: { open, parts }, description }: Props) {
  return (
    <div>
      <NativeSelect
        label="Project"
        description={description}
        name="project"
        data={open.map(({ id, name, account }) => ({ value: id, label: `${name} (${account.name})` }))}
      />
      {parts && <Older of={parts} shown={open.length} what="projects" />}
    </div>
  );
}
