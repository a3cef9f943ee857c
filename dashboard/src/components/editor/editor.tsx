import { lazy, Suspense, useId } from "react";
import css from "./editor.module.css";
import type { ScrollTarget } from "./scroll-target.ts";

interface Props {
  readonly text: string;
  readonly language: string;
  /** Label for screen readers. */
  readonly label: string;
  readonly readOnly?: boolean;
  /** The line to scroll to. The editor scrolls whenever this is another object, even if the line is the same. */
  readonly target?: ScrollTarget | null;
  readonly onChange?: (text: string) => void;
  /** Called when Ctrl+Enter or Cmd+Enter is pressed. */
  readonly onRun?: () => void;
}

/** Loaded when the first program is shown. */
const CodeMirror = lazy(() => import("./code-mirror.tsx"));

/** A program with syntax highlighting. Until CodeMirror is loaded, it is plain text. */
export function Editor(props: Props) {
  const hint = useId();
  return (
    <div className={css.editor} data-read-only={props.readOnly || undefined}>
      <Suspense fallback={<pre className={css.placeholder}>{props.text}</pre>}>
        <CodeMirror {...props} />
      </Suspense>
      {!props.readOnly && (
        <p id={hint} className={css.hint}>
          Tab indents. To leave with the keyboard, press <kbd>Esc</kbd>, then <kbd>Tab</kbd>.
        </p>
      )}
    </div>
  );
}

export type { Props as EditorProps };
