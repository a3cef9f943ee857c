import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { NetworkBound } from "../../../../src/http/dashboard/api/network.ts";
import { mutations, type NetworkOwner } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { sentence } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { useAction } from "../../components/use-action.ts";
import { type BoundField, boundIn, mistakeIn, rulesOf, type Written, writtenOf } from "./bound-form.ts";
import css from "./network.module.css";

interface Props {
  readonly owner: NetworkOwner;
  /** The name of the account or project. */
  readonly name: string;
  /** What the form begins with. With "none", it begins with an empty rule, unless that is the bound. */
  readonly begin: NetworkBound;
  /** Whether there is a bound that allows nothing. */
  readonly isClosed: boolean;
  readonly onClose: () => void;
}

/** A form for what sandboxes may reach at most. What the service refuses is shown at its field. */
export function BoundDialog({ owner, name, begin, isClosed: wasClosed, onClose }: Props) {
  const [written, setWritten] = useState<Written>(() => writtenOf(begin));
  const [rules, setRules] = useState(() => rulesOf(begin));
  const [isClosed, setClosed] = useState(wasClosed);
  const form = useRef<HTMLDivElement>(null);
  const setting = useAction(async () => await mutations.setNetwork(owner, boundIn(written, isClosed ? null : rules)), {
    toast: () => "Network bound set.",
    done: onClose,
  });
  const mistake = setting.error && mistakeIn(setting.error, rules);
  const errorAt = (field: string) => (mistake?.field === field ? sentence(mistake.text) : undefined);
  useEffect(() => {
    if (setting.error) form.current?.querySelector<HTMLElement>("[aria-invalid='true']")?.focus();
  }, [setting.error]);
  const field = (fieldName: BoundField, label: string, description?: string) => (
    <TextInput
      label={label}
      {...(description !== undefined && { description })}
      value={written[fieldName]}
      error={errorAt(fieldName)}
      autoComplete="off"
      onChange={({ currentTarget }) => setWritten({ ...written, [fieldName]: currentTarget.value })}
    />
  );
  const change = (at: number, changed: Partial<(typeof rules)[number]>) =>
    setRules(rules.map((rule, place) => (place === at ? { ...rule, ...changed } : rule)));
  return (
    <Dialog title={`Network bound of ${name}`} onClose={onClose}>
      <Form
        submit="Set bound"
        busy={setting.isPending}
        error={mistake && mistake.field === null ? setting.error : null}
        onCancel={onClose}
        onSubmit={() => setting.mutate()}
      >
        <div ref={form} className={css.form}>
          <p>
            {owner.what === "accounts"
              ? "Each sandbox of the account can ask for this, or for less. Without a bound, none has a network."
              : "Each sandbox of the project can ask for this, or for less. It must be within the bound of the account."}{" "}
            Living sandboxes are narrowed with it.
          </p>
          <NativeSelect
            label="Sandboxes may reach"
            value={isClosed ? "nothing" : "rules"}
            onChange={({ currentTarget }) => setClosed(currentTarget.value === "nothing")}
            data={[
              { value: "rules", label: "what the rules allow" },
              { value: "nothing", label: "nothing" },
            ]}
            data-autofocus
          />
          {!isClosed && (
            <>
              <fieldset className={css.rules}>
                <legend>Rules</legend>
                <p className={css.hint}>
                  A host such as <code>api.example.com</code>, <code>*.example.org</code> for all names below it, or a
                  network such as <code>203.0.113.0/24</code>, with TCP ports.
                </p>
                {rules.map(({ key, destination, ports }, at) => (
                  <div key={key} className={css.rule}>
                    <TextInput
                      aria-label={`Host or network of rule ${at + 1}`}
                      placeholder="api.example.com"
                      value={destination}
                      error={errorAt(`destination${at}`)}
                      autoComplete="off"
                      autoCapitalize="none"
                      spellCheck={false}
                      onChange={({ currentTarget }) => change(at, { destination: currentTarget.value })}
                    />
                    <TextInput
                      aria-label={`Ports of rule ${at + 1}`}
                      placeholder="443"
                      value={ports}
                      error={errorAt(`ports${at}`)}
                      autoComplete="off"
                      onChange={({ currentTarget }) => change(at, { ports: currentTarget.value })}
                    />
                    <Button
                      variant="subtle"
                      color="gray"
                      px="xs"
                      aria-label={`Remove rule ${at + 1}`}
                      disabled={rules.length === 1}
                      onClick={() => setRules(rules.filter((_, place) => place !== at))}
                    >
                      <Icon name="cross" />
                    </Button>
                  </div>
                ))}
                <Button
                  variant="default"
                  size="compact-sm"
                  leftSection={<Icon name="plus" size={16} />}
                  onClick={() => {
                    const key = 1 + Math.max(...rules.map((rule) => rule.key));
                    setRules([...rules, { key, destination: "", ports: "443" }]);
                  }}
                >
                  Add a rule
                </Button>
              </fieldset>
              <div className={css.pair}>
                {field("bytes_up", "Sent by a sandbox", "Over its life, such as 64 MiB")}
                {field("bytes_down", "Received by a sandbox", "Over its life, such as 1 GiB")}
                {field("connections", "Connections at once", "Of a sandbox")}
                {field("connections_per_minute", "Connections in a minute", "Of a sandbox")}
              </div>
            </>
          )}
          <div className={css.pair}>
            {field("bytes_up_per_day", "Sent per day", "By all sandboxes; empty: no bound")}
            {field("bytes_down_per_day", "Received per day", "By all sandboxes; empty: no bound")}
          </div>
        </div>
      </Form>
    </Dialog>
  );
}
