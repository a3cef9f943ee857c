import { Button, CloseButton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { TableSkeleton } from "../../components/data-table.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import css from "./run-panel.module.css";

const RunView = lazy(async () => ({ default: (await import("../../run/run-view.tsx")).RunView }));

interface Props {
  readonly id: string;
  readonly onStep: (by: 1 | -1) => void;
  readonly onClose: () => void;
}

/** The panel with a run next to the list. */
export function Panel({ id, onStep, onClose }: Props) {
  useShortcuts({ Escape: onClose });
  return (
    <aside className={css.panel} aria-label={`Submission ${id.slice(0, 8)}`}>
      <div className={css.toolbar}>
        <Button variant="default" size="compact-sm" title="k" onClick={() => onStep(-1)}>
          Previous
        </Button>
        <Button variant="default" size="compact-sm" title="j" onClick={() => onStep(1)}>
          Next
        </Button>
        <CloseButton className={css.close} aria-label="Close the run" title="Esc" onClick={onClose} />
      </div>
      <Suspense fallback={<TableSkeleton rows={14} />}>
        <RunView id={id} layout="panel" />
      </Suspense>
    </aside>
  );
}
