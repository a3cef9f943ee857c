import { Fragment } from "react";
import { PlainText } from "../components/program-text.tsx";
import css from "./egress.module.css";

/** The most characters of a name that are shown. */
const SHOWN = 70;
/** How many of them are of its end, which says whose domain it is. */
const END = 45;

/**
 * A name or an address that a program has chosen. It is only ever text: not a link, without the effect of control characters, and cut to a length.
 * A line of it ends after a dot, if that is possible.
 * @param of null: all that are not listed.
 */
export function HostName({ of: name }: { of: string | null }) {
  if (name === null) return <span className={css.rest}>all others together</span>;
  const isCut = name.length > SHOWN;
  const text = isCut ? `${name.slice(0, SHOWN - END).toWellFormed()}…${name.slice(-END).toWellFormed()}` : name;
  return (
    <bdi className={css.host} {...(isCut && { title: name.slice(0, 300) })}>
      {text.split(".").map((label, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name never change
        <Fragment key={at}>
          {at > 0 && (
            <>
              .<wbr />
            </>
          )}
          <PlainText text={label} />
        </Fragment>
      ))}
    </bdi>
  );
}
