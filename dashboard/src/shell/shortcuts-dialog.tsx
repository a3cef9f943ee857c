import { Switch } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "../components/dialog.tsx";
import { areSingleKeysOn, SHORTCUTS, switchSingleKeys } from "../components/shortcuts.ts";
import css from "./shortcuts-dialog.module.css";

export default function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const [on, setOn] = useState(areSingleKeysOn);
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className={css.keys}>
        {SHORTCUTS.map(([keys, action]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
      <Switch
        label="Single-key shortcuts"
        checked={on}
        onChange={({ currentTarget: { checked } }) => {
          switchSingleKeys(checked);
          setOn(checked);
        }}
      />
    </Dialog>
  );
}
