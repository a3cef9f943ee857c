import type { ReactNode } from "react";
import css from "./code-block.module.css";

/** Preformatted text that can also be scrolled by keyboard. */
export function CodeBlock({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: needed to scroll by keyboard
    <section className={css.codeBlock} aria-label={label} tabIndex={0}>
      <pre>{children}</pre>
    </section>
  );
}
