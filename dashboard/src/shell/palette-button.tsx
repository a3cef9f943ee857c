import { UnstyledButton } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";
import { Icon } from "../components/icon.tsx";
import { onKey, useShortcuts } from "../components/shortcuts.ts";
import css from "./shell.module.css";

const CommandPalette = lazy(() => import("./command-palette.tsx"));
const ShortcutsDialog = lazy(() => import("./shortcuts-dialog.tsx"));
const NewKeyDialog = lazy(async () => ({ default: (await import("../pages/keys/new-key-dialog.tsx")).NewKeyDialog }));
const NewProjectDialog = lazy(async () => ({
  default: (await import("../pages/projects/new-project-dialog.tsx")).NewProjectDialog,
}));

type Shown = "palette" | "shortcuts" | "key" | "project" | null;

/** The button of the command palette in the top bar, the palette, and the keyboard shortcuts that every page has. */
export function PaletteButton() {
  const [shown, setShown] = useState<Shown>(null);
  const close = () => setShown(null);
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  useShortcuts(
    { "Ctrl+K": () => setShown("palette"), "/": () => setShown("palette"), "?": () => setShown("shortcuts") },
    "last",
  );
  return (
    <>
      <UnstyledButton className={css.paletteButton} onClick={() => setShown("palette")} aria-haspopup="dialog">
        <Icon name="search" size={16} />
        <span className={css.paletteHint}>Go to</span>
        <kbd className={css.paletteHint}>Ctrl K</kbd>
      </UnstyledButton>
      <Suspense>
        {shown === "palette" && <CommandPalette onClose={close} onMake={setShown} />}
        {shown === "shortcuts" && <ShortcutsDialog onClose={close} />}
        {shown === "key" && <NewKeyDialog onClose={close} />}
        {shown === "project" && <NewProjectDialog onClose={close} />}
      </Suspense>
    </>
  );
}
