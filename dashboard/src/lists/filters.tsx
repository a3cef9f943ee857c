import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useClickOutside } from "@mantine/hooks";
import { type ReactNode, useRef, useState } from "react";
import { filtersIn, RANGE_OPTIONS, type Search } from "../client/search.ts";
import { Icon } from "../components/icon.tsx";
import { useShortcuts } from "../components/shortcuts.ts";
import { FilterFields } from "./filter-fields.tsx";
import css from "./filters.module.css";
import { SavedViewsButton } from "./saved-views-button.tsx";

export interface FilterProps {
  /** The noun for a row of the list, such as "submission". */
  readonly what: string;
  /** The verdicts to choose from, with their names. */
  readonly verdicts: Readonly<Record<string, string>>;
  /** The causes to choose from, with their names; absent if the rows of the list have no causes. */
  readonly causes?: Readonly<Record<string, string>>;
  readonly search: Search;
  readonly onChange: (search: Search) => void;
  /** Further fields, which only this list has. */
  readonly children?: ReactNode;
}

interface Props extends FilterProps {
  /** Address at which the list can be downloaded as CSV; absent if it cannot. */
  readonly csv?: string;
}

/** A pattern that matches an id, or the first characters of an id, if they are at least four. */
const BEGINNING =
  "\\s*[0-9a-fA-F]{4,8}\\s*|\\s*[0-9a-fA-F]{8}-[0-9a-fA-F]{0,4}\\s*|\\s*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){1,2}-[0-9a-fA-F]{0,4}\\s*|\\s*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{0,12}\\s*";

/** The filters of a list. They are stored in the URL, so that a filtered list can be shared, and Back undoes the last change. */
export function Filters({ csv, ...filtered }: Props) {
  const { what, search, onChange } = filtered;
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useClickOutside<HTMLDivElement>(({ target }) => {
    if (!(target instanceof Node && button.current?.contains(target))) setOpen(false);
  });
  const set = (changes: Search) => onChange({ ...search, ...changes });
  useShortcuts({ "/": () => document.getElementById("find-by-id")?.focus() });
  const active = filtersIn(search);
  const isCustom = Boolean(search.since || search.until);
  return (
    <search className={css.filters} aria-label={`Filter ${what}s`}>
      <form
        key={search.id}
        className={css.idSearch}
        onSubmit={(event) => {
          event.preventDefault();
          const id = String(new FormData(event.currentTarget).get("id")).trim();
          set({ id: id || undefined });
        }}
      >
        <TextInput
          id="find-by-id"
          name="id"
          aria-label="Id"
          defaultValue={search.id}
          placeholder="Id or its beginning"
          pattern={BEGINNING}
          title="Type at least the first 4 characters of an id, then press Enter"
          spellCheck={false}
          autoComplete="off"
          leftSection={<Icon name="search" size={16} />}
        />
      </form>
      <NativeSelect
        aria-label="Time range"
        className={css.range}
        value={isCustom ? "custom" : (search.range ?? "")}
        onChange={({ currentTarget: { value } }) => {
          if (value === "custom") setOpen(true);
          else set({ range: value || undefined, since: undefined, until: undefined });
        }}
        data={[{ value: "", label: "Any time" }, ...RANGE_OPTIONS, { value: "custom", label: "Custom" }]}
      />
      <Button
        ref={button}
        variant="default"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        leftSection={<Icon name="filter" size={16} />}
      >
        Filter
      </Button>
      {isOpen && (
        <section
          ref={panel}
          className={css.dropdown}
          aria-label={`Filters of the ${what}s`}
          onKeyDown={({ key }) => {
            if (key !== "Escape") return;
            setOpen(false);
            button.current?.focus();
          }}
        >
          <FilterFields {...filtered} />
        </section>
      )}
      <SavedViewsButton what={what} search={search} onChange={onChange} />
      {csv && (
        <Button
          component="a"
          className={css.csv}
          href={csv}
          download
          variant="default"
          title="Download the first 50,000 matches as a CSV file"
        >
          CSV
        </Button>
      )}
      {active.length > 0 && (
        <>
          {active
            .filter(([name]) => !OWN_FIELD.includes(name))
            .map(([name, value]) => (
              <Button
                key={name}
                variant="light"
                size="compact-sm"
                aria-label={`Remove ${labelOf(name, value, filtered)}`}
                rightSection={<Icon name="cross" size={12} />}
                onClick={() => set({ [name]: undefined })}
              >
                {labelOf(name, value, filtered)}
              </Button>
            ))}
          <Button variant="subtle" size="compact-sm" onClick={() => onChange({ order: search.order })}>
            Clear
          </Button>
        </>
      )}
    </search>
  );
}

/** Filters without a chip, because a field that is always visible shows them. */
const OWN_FIELD = ["id", "range"];

const LABELS: Readonly<Record<string, string>> = {
  verdict: "Verdict",
  cause: "Cause",
  status: "Status",
  language: "Language",
  account: "Account",
  project: "Project",
  key: "Key",
  problem: "Problem",
  since: "From",
  until: "Until",
};

const TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** The text of a chip. Long values, such as ids, are shortened. */
function labelOf(name: string, value: string, { verdicts, causes }: FilterProps): string {
  const texts: Readonly<Record<string, () => string | undefined>> = {
    verdict: () => verdicts[value] && `${value} ${verdicts[value]}`,
    cause: () => causes?.[value],
    since: () => `From ${Number.isNaN(Date.parse(value)) ? value : TIME.format(new Date(value))}`,
    until: () => `Until ${Number.isNaN(Date.parse(value)) ? value : TIME.format(new Date(value))}`,
  };
  return texts[name]?.() ?? `${LABELS[name] ?? name}: ${value.slice(0, 12)}`;
}
