import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { fetchPage, MAX_OPTIONS, queries } from "../client/api.ts";
import type { Search } from "../client/search.ts";
import { useAccountOptions } from "../client/session.ts";
import { usePaginatedQuery } from "../client/use-paginated-query.ts";
import { LoadMoreOptions } from "../components/load-more.tsx";
import { fromLocalInput, toLocalInput } from "../components/local-time.ts";
import css from "./filters.module.css";
import type { FilterProps } from "./filters.tsx";

const STATUSES = ["pending", "running", "completed", "error"];

/** The fields of the filters. Their options are requested when the fields are shown. */
export function FilterFields({ verdicts, causes, search, onChange, children }: FilterProps) {
  const accounts = useAccountOptions();
  const { data: languages } = useQuery({ ...queries.languages(), staleTime: 60_000 });
  const projects = usePaginatedQuery(["/projects", "any", MAX_OPTIONS], (before) =>
    fetchPage.projects("any", before, MAX_OPTIONS),
  );
  const keys = usePaginatedQuery(["/keys", "any", MAX_OPTIONS], (before) =>
    fetchPage.keys({ state: "any", before, limit: MAX_OPTIONS }),
  );
  const set = (changes: Search) => onChange({ ...search, ...changes });
  const choice = (name: keyof Search, label: string, all: string, options: readonly Option[]) => (
    <NativeSelect
      label={label}
      value={search[name] ?? ""}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value || undefined })}
      // A value from the URL stays selected, even if it is none of the options.
      data={[{ value: "", label: all }, ...withChosen(options, search[name])]}
    />
  );
  const time = (name: "since" | "until", label: string) => (
    <TextInput
      label={label}
      type="datetime-local"
      value={toLocalInput(search[name])}
      onChange={({ currentTarget }) => set({ [name]: fromLocalInput(currentTarget.value), range: undefined })}
    />
  );
  const named = ({ id, name }: { id: string; name: string }): Option => ({ value: id, label: name });
  const ofProjects = projects.data?.flatMap((page) => page.projects) ?? [];
  const ofKeys = keys.data?.flatMap((page) => page.keys) ?? [];
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => first.current?.querySelector("select")?.focus(), []);
  return (
    <div ref={first} className={css.fields}>
      {choice(
        "verdict",
        "Verdict",
        "Any",
        Object.entries(verdicts).map(([value, words]) => ({ value, label: `${value} ${words}` })),
      )}
      {causes &&
        choice(
          "cause",
          "Cause",
          "Any",
          Object.entries(causes).map(([value, label]) => ({ value, label })),
        )}
      {choice(
        "status",
        "Status",
        "Any",
        STATUSES.map((value) => ({ value, label: value })),
      )}
      {choice("language", "Language", "Any", languages?.map(({ name }) => ({ value: name, label: name })) ?? [])}
      {accounts.length > 0 && choice("account", "Account", "All", accounts.map(named))}
      <div>
        {choice("project", "Project", "Any", ofProjects.map(named))}
        <LoadMoreOptions query={projects} shown={ofProjects.length} what="projects" />
      </div>
      <div>
        {choice("key", "Key", "Any", ofKeys.map(named))}
        <LoadMoreOptions query={keys} shown={ofKeys.length} what="keys" />
      </div>
      {children}
      {time("since", "From")}
      {time("until", "Until")}
    </div>
  );
}

interface Option {
  readonly value: string;
  readonly label: string;
}

function withChosen(options: readonly Option[], chosen: string | undefined): readonly Option[] {
  if (!chosen || options.some(({ value }) => value === chosen)) return options;
  return [...options, { value: chosen, label: chosen }];
}
