import { Button, Menu, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Dialog } from "../components/dialog.tsx";
import { Form, text } from "../components/form.tsx";
import { isSame, MAX_NAME, type View, type ViewsProps } from "./saved-views.ts";

interface Props extends ViewsProps {
  readonly views: readonly View[];
  readonly onSave: (views: readonly View[]) => void;
}

export default function SavedViewsMenu({ views, onSave, search, onChange }: Props) {
  const [isNaming, { open, close }] = useDisclosure();
  const shown = views.find((view) => isSame(view.search, search));
  const save = (form: FormData) => {
    const name = text(form, "name");
    onSave([...views.filter((view) => view.name !== name), { name, search }]);
    close();
  };
  return (
    <>
      <Menu position="bottom-start" defaultOpened returnFocus>
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
            <Menu.Item
              onClick={() => onSave(views.filter((view) => view !== shown))}
            >{`Remove ${shown.name}`}</Menu.Item>
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
