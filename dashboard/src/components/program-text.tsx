import { Button, VisuallyHidden } from "@mantine/core";
import { memo, useMemo, useState } from "react";
import { CodeBlock } from "./code-block.tsx";
import { copy } from "./copyable.tsx";
import { showControlCharacters } from "./editor/control-characters.ts";
import { size } from "./format.ts";
import css from "./program-text.module.css";

/** Number of characters shown at first, because browsers render megabytes slowly. */
const SHOWN = 50_000;

interface Props {
  readonly name: string;
  /** Null if the text was not stored. */
  readonly text: string | null;
  /** Shown instead of the text if it is empty or null. */
  readonly nothing: string;
  /** Says why the text may be incomplete. */
  readonly note?: string | undefined;
}

/** An input, an answer, or an output of a program. */
export function ProgramText({ name, text, nothing, note }: Props) {
  const [whole, setWhole] = useState(false);
  const length = useMemo(() => new TextEncoder().encode(text ?? "").length, [text]);
  const isCut = !whole && (text?.length ?? 0) > SHOWN;
  return (
    <div className={css.program}>
      <div className={css.head}>
        <h3>{name}</h3>
        <span>{text ? size(length) : ""}</span>
        {text && (
          <Button variant="subtle" color="gray" size="compact-xs" onClick={() => copy(text, name)}>
            Copy<VisuallyHidden component="span"> {name}</VisuallyHidden>
          </Button>
        )}
      </div>
      {note && <p className={css.note}>{note}</p>}
      {text ? (
        <CodeBlock label={name}>
          <PlainText text={isCut ? text.slice(0, SHOWN) : text} />
        </CodeBlock>
      ) : (
        <p className={css.empty}>{nothing}</p>
      )}
      {isCut && (
        <Button variant="default" size="compact-sm" onClick={() => setWhole(true)}>
          {`Show all ${size(length)}`}
        </Button>
      )}
    </div>
  );
}

/** A text with the names of control characters instead of the characters. */
export const PlainText = memo(({ text }: { text: string }) =>
  showControlCharacters(text).map(({ text: shown, control }, i) =>
    control ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the order of segments never changes
      <span key={i} className={css.control} title={control}>
        {shown}
      </span>
    ) : (
      shown
    ),
  ),
);
