import { PlainText } from "../../components/program-text.tsx";
import css from "./sandboxes.module.css";

/** The names and values that the client chose. */
export function Metadata({ of: metadata }: { of: Readonly<Record<string, string>> }) {
  const entries = Object.entries(metadata);
  if (entries.length === 0) return "none";
  return (
    <span className={css.metadata}>
      {entries.map(([name, value]) => (
        <code key={name}>
          <PlainText text={`${name}=${value}`} />
        </code>
      ))}
    </span>
  );
}
