import { Button, Menu, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { Dialog } from "../pieces/dialog.tsx";
import { Form, text } from "../pieces/form.tsx";
import type { Search } from "./search.ts";

/** Of each list, in this browser. */
const MAX_VIEWS = 20;
const MAX_NAME = 40;

interface View {
  readonly name: string;
  readonly search: Search;
}

interface Props {
  /** A row of the list, as a noun. */
  readonly what: string;
  readonly search: Search;
  readonly onChange: (search: Search) => void;
}

/** Filters with a name, kept in this browser. */
export function Views({ what, search, onChange }: Props) {
  const stored = `assay-views-${what}`;
  const [views, setViews] = useState(() => read(stored));
  const [isNaming, { open, close }] = useDisclosure();
  const keep = (next: readonly View[]) => {
    localStorage.setItem(stored, JSON.stringify(next));
    setViews(next);
  };
  const shown = views.find((view) => isSame(view.search, search));
  const save = (form: FormData) => {
    const name = text(form, "name");
    keep([...views.filter((view) => view.name !== name), { name, search }].slice(-MAX_VIEWS));
    close();
  };
  return (
    <>
      <Menu position="bottom-start">
        <Menu.Target>
          <Button variant="default">{shown ? shown.name : "Views"}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.length === 0 && <Menu.Label>No saved views</Menu.Label>}
          {views.map((view) => (
            <Menu.Item key={view.name} onClick={() => onChange(view.search)}>
              {view.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item onClick={open}>Save these filters as a view</Menu.Item>
          {shown && (
            <Menu.Item onClick={() => keep(views.filter((view) => view !== shown))}>{`Remove ${shown.name}`}</Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isNaming && (
        <Dialog title="Save view" onClose={close}>
          <Form submit="Save view" busy={false} error={null} onSubmit={save} onCancel={close}>
            <TextInput
              label="Name"
              name="name"
              required
              maxLength={MAX_NAME}
              pattern=".*\S.*"
              autoComplete="off"
              data-autofocus
              description="A view of the same name is replaced."
            />
          </Form>
        </Dialog>
      )}
    </>
  );
}

function isSame(one: Search, other: Search): boolean {
  const sorted = (search: Search) =>
    JSON.stringify(
      Object.entries(search)
        .filter(([, value]) => value)
        .sort(),
    );
  return sorted(one) === sorted(other);
}

/** Entries of another form, as of another version, are left out. */
function read(stored: string): readonly View[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(stored) ?? "[]");
    return Array.isArray(found) ? found.filter(isView).slice(-MAX_VIEWS) : [];
  } catch {
    return [];
  }
}

function isView(one: Partial<View> | null): one is View {
  return typeof one?.name === "string" && typeof one.search === "object" && one.search !== null;
}
