import { CloseButton } from "@mantine/core";
import { useEffect, useSyncExternalStore } from "react";
import { Icon } from "./icon.tsx";
import css from "./said.module.css";

type Tone = "good" | "bad";
interface Sentence {
  readonly text: string;
  readonly tone: Tone;
}

const SHOWN_MS = 6_000;

let current: Sentence | null = null;
const listeners = new Set<() => void>();

/** Shows the result of an action for some seconds, and announces it to screen readers. */
export function toast(text: string, tone: Tone = "good"): void {
  become({ text, tone });
}

function become(next: Sentence | null): void {
  current = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toaster() {
  const sentence = useSyncExternalStore(listen, () => current);
  useEffect(() => {
    // Errors stay until they are closed.
    if (sentence?.tone !== "good") return;
    const timer = setTimeout(() => become(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [sentence]);
  return (
    <div role="status" className={css.place}>
      {sentence && (
        <div className={css.sentence} data-tone={sentence.tone}>
          <Icon name={sentence.tone === "good" ? "check" : "alert"} />
          <span>{sentence.text}</span>
          <CloseButton aria-label="Close this message" onClick={() => become(null)} />
        </div>
      )}
    </div>
  );
}
