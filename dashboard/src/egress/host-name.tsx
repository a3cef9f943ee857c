import { PlainText } from "../components/program-text.tsx";
import css from "./egress.module.css";

/** The most characters of a name that are shown. */
const SHOWN = 80;
/** How many of them are of its end, which says whose domain it is. */
const END = 50;

/**
 * A name or an address that a program has chosen. It is only ever text: not a link, without the effect of control characters, and cut to a length.
 * @param of null: all that are not listed.
 */
export function HostName({ of: name }: { of: string | null }) {
  if (name === null) return <span className={css.rest}>all others together</span>;
  const isCut = name.length > SHOWN;
  const text = isCut ? `${name.slice(0, SHOWN - END).toWellFormed()}…${name.slice(-END).toWellFormed()}` : name;
  return (
    <bdi className={css.host} {...(isCut && { title: name.slice(0, 300) })}>
      <PlainText text={text} />
    </bdi>
  );
}
