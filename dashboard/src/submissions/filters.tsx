import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import { asking, CHOICES, part } from "../api.ts";
import { Older } from "../pieces/older.tsx";
import { useParts } from "../pieces/parts.ts";
import { useChoiceOfAccounts } from "../session.ts";
import css from "./filters.module.css";
import { fromLocal, type Search, toLocal } from "./search.ts";

const STATUSES = ["pending", "running", "completed", "error"];

interface Props {
  /** A row of the list, as a noun. */
  readonly what: string;
  /** The verdicts to choose from, each with its words. */
  readonly verdicts: Readonly<Record<string, string>>;
  readonly search: Search;
  readonly onChange: (search: Search) => void;
  /** Further fields. */
  readonly children?: ReactNode;
}

/** The filters. Each is stored in the URL, so that results can be shared. */
export function Filters({ what, verdicts, search, onChange, children }: Props) {
  const [isOpen, { toggle }] = useDisclosure();
  const fields = useId();
  const accounts = useChoiceOfAccounts();
  const { data: languages } = useQuery({ ...asking.languages(), staleTime: 60_000 });
  const projects = useParts(["/projects", "any", CHOICES], (before) => part.projects("any", before, CHOICES));
  const keys = useParts(["/keys", "any", CHOICES], (before) => part.keys({ state: "any", before, limit: CHOICES }));
  const set = (name: keyof Search, value: string | undefined) => onChange({ ...search, [name]: value || undefined });
  const choice = (name: keyof Search, label: string, all: string, options: readonly Option[]) => (
    <NativeSelect
      label={label}
      value={search[name] ?? ""}
      onChange={({ currentTarget }) => set(name, currentTarget.value)}
      // The value from the URL stays selected, even if it is not in the list.
      data={[{ value: "", label: all }, ...withChosen(options, search[name])]}
    />
  );
  const named = ({ id, name }: { id: string; name: string }): Option => ({ value: id, label: name });
  const time = (name: "since" | "until", label: string) => (
    <TextInput
      label={label}
      type="datetime-local"
      value={toLocal(search[name])}
      onChange={({ currentTarget }) => set(name, fromLocal(currentTarget.value))}
    />
  );
  const ofProjects = projects.data?.flatMap((page) => page.projects) ?? [];
  const ofKeys = keys.data?.flatMap((page) => page.keys) ?? [];
  const active = Object.values(search).filter(Boolean).length;
  return (
    <>
      <Button className={css.open} variant="default" aria-expanded={isOpen} aria-controls={fields} onClick={toggle}>
        {active === 0 ? "Filter" : `Filter (${active} active)`}
      </Button>
      <search id={fields} className={css.filters} data-folded={!isOpen || undefined} aria-label={`Filter ${what}s`}>
        {choice(
          "verdict",
          "Verdict",
          "Any",
          Object.entries(verdicts).map(([value, words]) => ({ value, label: `${value} ${words}` })),
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
          <Older of={projects} shown={ofProjects.length} what="projects" />
        </div>
        <div>
          {choice("key", "Key", "Any", ofKeys.map(named))}
          <Older of={keys} shown={ofKeys.length} what="keys" />
        </div>
        {children}
        {time("since", "From")}
        {time("until", "Until")}
        <form
          key={search.id}
          onSubmit={(event) => {
            event.preventDefault();
            set("id", String(new FormData(event.currentTarget).get("id")).trim());
          }}
        >
          <TextInput
            label="Id"
            name="id"
            defaultValue={search.id}
            placeholder="Complete id, then Enter"
            pattern="\s*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\s*"
            title={`The complete id of a ${what}`}
            spellCheck={false}
            autoComplete="off"
          />
        </form>
        <Button variant="default" disabled={active === 0} onClick={() => onChange({})}>
          Clear
        </Button>
      </search>
    </>
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
