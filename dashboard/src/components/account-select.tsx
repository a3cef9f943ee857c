import { NativeSelect } from "@mantine/core";
import { useAccountOptions } from "../client/session.ts";

interface Props {
  /** A visible label. Without it, only screen readers get a label. */
  readonly label?: string;
  readonly value: string | undefined;
  readonly onChange: (id: string | undefined) => void;
}

/** Selects one account or all accounts. It is not shown to a person with at most one account. */
export function AccountSelect({ label, value, onChange }: Props) {
  const accounts = useAccountOptions();
  if (accounts.length === 0) return null;
  return (
    <NativeSelect
      {...(label === undefined ? { "aria-label": "Account" } : { label })}
      value={value ?? ""}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      data={[{ value: "", label: "All accounts" }, ...accounts.map(({ id, name }) => ({ value: id, label: name }))]}
    />
  );
}
