import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useId } from "react";
import { AccountSelect } from "../../components/account-select.tsx";
import { fromLocalInput, toLocalInput } from "../../components/local-time.ts";
import css from "./audit.module.css";
import { ACTIONS } from "./event-sentence.tsx";
import type { AuditSearch } from "./search.ts";

interface Props {
  readonly search: AuditSearch;
  readonly onChange: (search: AuditSearch) => void;
}

/** The filters of the audit trail. They are stored in the URL, so that Back undoes the last change. */
export function AuditFilters({ search, onChange }: Props) {
  const [isOpen, { toggle }] = useDisclosure();
  const fields = useId();
  const set = (name: keyof AuditSearch, value: string | undefined) =>
    onChange({ ...search, [name]: value?.trim() || undefined });
  const typed = (name: "actor" | "subject", label: string, placeholder: string) => (
    <form
      key={`${name} ${search[name] ?? ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        set(name, String(new FormData(event.currentTarget).get(name)));
      }}
    >
      <TextInput
        label={label}
        name={name}
        defaultValue={search[name] ?? ""}
        placeholder={placeholder}
        maxLength={name === "actor" ? 254 : 100}
        spellCheck={false}
        autoComplete="off"
        onBlur={({ currentTarget: { value } }) => value.trim() !== (search[name] ?? "") && set(name, value)}
      />
    </form>
  );
  const time = (name: "since" | "until", label: string) => (
    <TextInput
      label={label}
      type="datetime-local"
      value={toLocalInput(search[name])}
      onChange={({ currentTarget }) => set(name, fromLocalInput(currentTarget.value))}
    />
  );
  const active = Object.values(search).filter(Boolean).length;
  return (
    <>
      <Button className={css.toggle} variant="default" aria-expanded={isOpen} aria-controls={fields} onClick={toggle}>
        {active === 0 ? "Filter" : `Filter (${active} active)`}
      </Button>
      <search id={fields} className={css.filters} data-folded={!isOpen || undefined} aria-label="Filter entries">
        <AccountSelect label="Account" value={search.account} onChange={(id) => set("account", id)} />
        {typed("actor", "Actor", "E-mail or cli")}
        <NativeSelect
          label="Action"
          value={search.action ?? ""}
          onChange={({ currentTarget }) => set("action", currentTarget.value)}
          data={[{ value: "", label: "Any" }, ...ACTIONS.map((action) => ({ value: action, label: action }))]}
        />
        {typed("subject", "Target", "Id, or name of a tier")}
        {time("since", "From")}
        {time("until", "Until")}
        <Button variant="default" disabled={active === 0} onClick={() => onChange({})}>
          Clear
        </Button>
      </search>
    </>
  );
}
