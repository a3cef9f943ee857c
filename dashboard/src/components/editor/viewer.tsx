import { ActionIcon } from "@mantine/core";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { copy } from "../copyable.tsx";
import { Icon, type IconName } from "../icon.tsx";
import type { TextLink } from "./decorations.ts";
import css from "./editor.module.css";
import type { PrintableText } from "./printable-text.ts";
import type { ScrollTarget } from "./scroll-target.ts";

interface Common {
  readonly text: PrintableText;
  /** Label for screen readers, and name of the text in labels of buttons and in messages. */
  readonly label: string;
  /** The language of a program, which selects the grammar; absent for other texts. */
  readonly language?: string;
  /** The number that is shown for the first line; 1 by default. */
  readonly firstLine?: number;
  /** Links to lines of other texts. The positions of the links refer to `text`, not to `original`. */
  readonly links?: readonly TextLink[];
  /** Numbers of the lines with a message. */
  readonly marked?: readonly number[];
  /** The line to scroll to. The viewer scrolls whenever this is another object, even if the line is the same. */
  readonly target?: ScrollTarget | null;
  /** Called when a person clicks a link to a line. */
  readonly onLineChosen?: (line: number, file?: string) => void;
}

export interface ViewerProps extends Common {
  readonly wrap: boolean;
  /** How often the search was requested. The viewer opens the search when this number increases. */
  readonly searchRequests?: number;
  /** Whether the viewer stays at the end while the text grows. */
  readonly follow?: boolean;
  /** Called with true when the text is scrolled to its end, and with false when a person scrolls up. */
  readonly onFollow?: (isAtEnd: boolean) => void;
}

interface Props extends Common {
  /** Shown to the left of the buttons. */
  readonly head: ReactNode;
  /** Address for a download of the text; null while it cannot be downloaded. */
  readonly download: string | null;
  /** The text with its colour sequences and control characters, for the clipboard. */
  readonly original: string;
  /** Whether the text can still grow. */
  readonly isLive?: boolean;
}

const CodeMirrorViewer = lazy(() => import("./code-mirror-viewer.tsx"));

/** Shows a read-only text with line numbers and a search. Until CodeMirror is loaded, it shows only the start of the text. */
export function Viewer({ head, download, original, isLive = false, ...content }: Props) {
  const [wrap, setWrap] = useState(true);
  const [searchRequests, setSearchRequests] = useState(0);
  const [follow, setFollow] = useState(true);
  const { label } = content;
  return (
    <div className={css.viewer}>
      <div className={css.toolbar}>
        <div className={css.title}>{head}</div>
        {isLive && !follow && <Tool icon="end" label="Follow the end of the output" onClick={() => setFollow(true)} />}
        <Tool icon="find" label={`Search in ${label}`} onClick={() => setSearchRequests((n) => n + 1)} />
        <Tool icon="wrap" label={`Wrap lines of ${label}`} isOn={wrap} onClick={() => setWrap(!wrap)} />
        <Tool icon="copy" label={`Copy ${label}`} onClick={() => copy(original, label)} />
        {download && (
          <ActionIcon
            component="a"
            href={download}
            download
            title={`Download ${label}`}
            variant="subtle"
            color="gray"
            size="md"
            aria-label={`Download ${label}`}
          >
            <Icon name="download" size={16} />
          </ActionIcon>
        )}
      </div>
      <div className={css.editor} data-viewer>
        <Suspense fallback={<pre className={css.placeholder}>{content.text.text.slice(0, FIRST)}</pre>}>
          <CodeMirrorViewer
            {...content}
            wrap={wrap}
            searchRequests={searchRequests}
            follow={isLive && follow}
            onFollow={setFollow}
          />
        </Suspense>
      </div>
    </div>
  );
}

/** Number of characters that are shown until CodeMirror is loaded. */
const FIRST = 4_000;

interface ToolProps {
  readonly icon: IconName;
  readonly label: string;
  readonly isOn?: boolean;
  readonly onClick: () => void;
}

function Tool({ icon, label, isOn, onClick }: ToolProps) {
  return (
    <ActionIcon
      variant={isOn ? "light" : "subtle"}
      color={isOn ? "teal" : "gray"}
      size="md"
      title={label}
      aria-label={label}
      aria-pressed={isOn}
      onClick={onClick}
    >
      <Icon name={icon} size={16} />
    </ActionIcon>
  );
}
