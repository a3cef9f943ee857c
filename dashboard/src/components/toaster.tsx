import { CloseButton } from "@mantine/core";
import { useEffect, useSyncExternalStore } from "react";
import { Icon } from "./icon.tsx";
import css from "./toaster.module.css";

type Tone = "good" | "bad";
interface Sentence {
  readonly text: string;
  readonly tone: Tone;
  /** The pressed button, if the text is shown next to it. */
  readonly at?: Element | null;
}

const SHOWN_MS = 6_000;
const SHOWN_AT_BUTTON_MS = 2_000;

let current: Sentence | null = null;
const listeners = new Set<() => void>();

/**
 * Shows the result of an action, and announces it to screen readers. A success disappears after some seconds, an error stays
 * until it is closed.
 */
export function toast(text: string, tone: Tone = "good"): void {
  setCurrent({ text, tone });
}

/** Shows a short text for two seconds, next to the button that has the focus. */
export function toastAtButton(text: string): void {
  const { activeElement: at } = document;
  setCurrent({ text, tone: "good", at: at?.closest("button") ?? null });
}

function setCurrent(next: Sentence | null): void {
  current = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Half of the greatest width of a text next to a button. */
const EDGE_PX = 48;

export function Toaster() {
  const sentence = useSyncExternalStore(listen, () => current);
  useEffect(() => {
    if (sentence?.tone !== "good") return;
    const timer = setTimeout(() => setCurrent(null), sentence.at ? SHOWN_AT_BUTTON_MS : SHOWN_MS);
    return () => clearTimeout(timer);
  }, [sentence]);
  if (sentence?.at) {
    const { left, width, top } = sentence.at.getBoundingClientRect();
    const middle = Math.min(Math.max(left + width / 2, EDGE_PX), window.innerWidth - EDGE_PX);
    return (
      <div role="status" className={css.tooltip} style={{ left: middle, top }}>
        {sentence.text}
      </div>
    );
  }
  return (
    <div role="status" className={css.container}>
      {sentence && (
        <div className={css.toast} data-tone={sentence.tone}>
          <Icon name={sentence.tone === "good" ? "check" : "alert"} />
          <span>{sentence.text}</span>
          <CloseButton aria-label="Close this message" onClick={() => setCurrent(null)} />
        </div>
      )}
    </div>
  );
}
