import { PlainText } from "../../components/program-text.tsx";
import css from "./sandboxes.module.css";

/** How many of them a list shows. */
const SHORT = 3;

interface Props {
  readonly of: Readonly<Record<string, string>>;
  /** Whether only the first are shown, each in one line. */
  readonly isShort?: boolean;
}

/** The names and values that the client chose. */
export function Metadata({ of: metadata, isShort = false }: Props) {
  const entries = Object.entries(metadata);
  if (entries.length === 0) return "none";
  const shown = isShort ? entries.slice(0, SHORT) : entries;
  return (
    <span className={css.metadata} data-short={isShort || undefined}>
      {shown.map(([name, value]) => (
        <code key={name}>
          <PlainText text={`${name}=${value}`} />
        </code>
      ))}
      {entries.length > shown.length && <span>and {entries.length - shown.length} more</span>}
    </span>
  );
}
