import { useEffect, useRef } from "react";

/** The keyboard shortcuts, for the dialog that lists them. */
export const SHORTCUTS: readonly (readonly [keys: string, action: string])[] = [
  ["Ctrl K", "Go to a page, a run, a judgement, a problem, a project or a key; start an action"],
  ["/", "Search"],
  ["j, k", "Next and previous row of a list; next and previous run in the panel"],
  ["Enter", "Open the row"],
  ["Esc", "Close the panel or the dialog"],
  ["?", "Show these shortcuts"],
];

type Handler = () => void;
/** The handlers of each key. Only the last one is called. */
const handlers = new Map<string, Handler[]>();

/**
 * Key in the local storage. Its value is "off" if single-key shortcuts are switched off in this browser: such keys can be pressed by
 * mistake, or by speech input.
 */
const STORED = "assay-single-keys";

export function areSingleKeysOn(): boolean {
  return localStorage.getItem(STORED) !== "off";
}

export function switchSingleKeys(on: boolean): void {
  if (on) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, "off");
}

/**
 * Calls the handler of a pressed key while the component is mounted.
 * @param keys The handlers by key. A key is one character, `Escape` or `Ctrl+K`.
 * @param turn `last`: these handlers are called only if no other component handles the key.
 */
export function useShortcuts(keys: Readonly<Record<string, Handler>>, turn: "first" | "last" = "first"): void {
  const newest = useRef(keys);
  newest.current = keys;
  const names = Object.keys(keys).join(" ");
  useEffect(() => {
    const added = names.split(" ").map((name) => [name, () => newest.current[name]?.()] as const);
    for (const [name, handler] of added) {
      const others = handlers.get(name) ?? [];
      handlers.set(name, turn === "last" ? [handler, ...others] : [...others, handler]);
    }
    return () => {
      for (const [name, handler] of added)
        handlers.set(name, handlers.get(name)?.filter((other) => other !== handler) ?? []);
    };
  }, [names, turn]);
}

/** While the focus is in one of these elements, keys are not shortcuts. */
const OWNERS = "input, textarea, select, [contenteditable], [role='dialog'], [role='menu'], [role='listbox']";

export function onKey(event: KeyboardEvent): void {
  const { target, key, ctrlKey, metaKey, altKey, defaultPrevented } = event;
  // The path begins inside the shadow root of the editor; `target` is outside of it.
  const [inner] = event.composedPath();
  const owned = [inner, target].some((one) => one instanceof Element && one.closest(OWNERS));
  if (defaultPrevented || owned || altKey) return;
  const isPalette = (ctrlKey || metaKey) && key.toLowerCase() === "k";
  if ((ctrlKey || metaKey) && !isPalette) return;
  if (key.length === 1 && !isPalette && !areSingleKeysOn()) return;
  const handler = handlers.get(isPalette ? "Ctrl+K" : key)?.at(-1);
  if (!handler) return;
  event.preventDefault();
  handler();
}
