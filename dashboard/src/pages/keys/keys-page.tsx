import { Button, Switch, TextInput } from "@mantine/core";
import { useDebouncedCallback, useDisclosure } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { Icon } from "../../components/icon.tsx";
import { Page } from "../../components/page.tsx";
import { KeyTable } from "./key-table.tsx";
import css from "./keys.module.css";
import { NewKeyDialog } from "./new-key-dialog.tsx";

const route = getRouteApi("/inside/keys");

/**
 * Number of characters of a key that are searched: those that the service stores. A whole key must not be in a URL, because URLs
 * are logged.
 */
const PREFIX_CHARACTERS = "assay_live_".length + 6;
const TYPING_MS = 300;

export function KeysPage() {
  const { name, ended } = route.useSearch();
  const navigate = route.useNavigate();
  const [making, { open, close }] = useDisclosure();
  const search = useDebouncedCallback((text: string) => {
    const trimmed = text.trim();
    const next = trimmed.startsWith("assay_") ? trimmed.slice(0, PREFIX_CHARACTERS) : trimmed;
    navigate({ search: (now) => ({ ...now, name: next || undefined }), replace: true });
  }, TYPING_MS);
  return (
    <Page
      title="API keys"
      lead="A client submits with an API key. Each key has a quota of requests in any 60 seconds and a limit of submissions running at once."
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          New key
        </Button>
      }
    >
      <search className={css.search} aria-label="Search keys">
        <TextInput
          aria-label="Name or beginning of the key"
          placeholder="Name or beginning of the key"
          type="search"
          maxLength={100}
          defaultValue={name ?? ""}
          onChange={({ currentTarget }) => search(currentTarget.value)}
          spellCheck={false}
          autoComplete="off"
        />
        <Switch
          label="Show revoked and expired"
          checked={ended === true}
          onChange={({ currentTarget }) => {
            const shown = currentTarget.checked || undefined;
            navigate({ search: (now) => ({ ...now, ended: shown }), replace: true });
          }}
        />
      </search>
      <KeyTable ended={ended === true} name={name} onNew={open} />
      {making && <NewKeyDialog onClose={close} />}
    </Page>
  );
}
