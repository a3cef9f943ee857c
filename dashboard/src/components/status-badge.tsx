import type { ReactNode } from "react";
import css from "./status-badge.module.css";

export type Tone = "good" | "warn" | "bad" | "idle";

/** A state as text and colour. */
export function State({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={css.state} data-tone={tone}>
      {children}
    </span>
  );
}
