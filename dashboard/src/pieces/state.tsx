import type { ReactNode } from "react";
import css from "./state.module.css";

export type Tone = "good" | "warn" | "bad" | "idle";

/** How something stands, in a word; the colour only repeats it. */
export function State({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={css.state} data-tone={tone}>
      {children}
    </span>
  );
}
