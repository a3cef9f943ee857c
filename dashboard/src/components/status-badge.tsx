import type { ReactNode } from "react";
import css from "./status-badge.module.css";

export type Tone = "good" | "warn" | "bad" | "idle";

/** A state as text with a colour. */
export function StatusBadge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={css.badge} data-tone={tone}>
      {children}
    </span>
  );
}
