import { Button, VisuallyHidden } from "@mantine/core";
import { memo, useMemo, useState } from "react";
import { CodeBlock } from "../pieces/code-block.tsx";
import { copy } from "../pieces/copyable.tsx";
import { size } from "../pieces/words.ts";
import { showControlCharacters } from "./control-characters.ts";
import css from "./output.module.css";

/** So much is put on the page before somebody asks for all: a browser takes long over megabytes. */
const SHOWN = 50_000;

interface Props {
  readonly name: string;
  /** Null: nothing is known of it. */
  readonly text: string | null;
  /** What stands there when nothing was written. */
  readonly nothing: string;
  /** Whether it is all. */
  readonly note?: string | undefined;
}

/** Text that a program wrote or was given. */
export function Output({ name, text, nothing, note }: Props) {
  const [whole, setWhole] = useState(false);
  const length = useMemo(() => new TextEncoder().encode(text ?? "").length, [text]);
  const isCut = !whole && (text?.length ?? 0) > SHOWN;
  return (
    <div className={css.output}>
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
          <Text text={isCut ? text.slice(0, SHOWN) : text} />
        </CodeBlock>
      ) : (
        <p className={css.nothing}>{nothing}</p>
      )}
      {isCut && (
        <Button variant="default" size="compact-sm" onClick={() => setWhole(true)}>
          {`Show all ${size(length)}`}
        </Button>
      )}
    </div>
  );
}

const Text = memo(({ text }: { text: string }) =>
  showControlCharacters(text).map(({ text: shown, control }, i) =>
    control ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other order than its own
      <span key={i} className={css.control} title={control}>
        {shown}
      </span>
    ) : (
      shown
    ),
  ),
);
