import type { ReactNode } from "react";
import css from "./passage.module.css";

/** Text of a machine, line by line; where it is long it scrolls, also for those who have keys alone. */
export function CodeBlock({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it nobody could scroll it by keys
    <section className={css.passage} aria-label={label} tabIndex={0}>
      <pre>{children}</pre>
    </section>
  );
}
