import type { EditorView } from "@codemirror/view";

/** A line to scroll to and to mark. */
export interface ScrollTarget {
  readonly line: number;
  /** Whether a person asked for the line. If so, and if the text is outside of the window, the page scrolls as well. */
  readonly isAsked?: boolean;
}

/**
 * Scrolls within the text until the line is in the middle. Unlike CodeMirror's own scrolling, this moves the page only for a line
 * that a person asked for.
 */
export function scrollToLine(view: EditorView, { line, isAsked }: ScrollTarget): void {
  const { scrollDOM, state } = view;
  if (line > state.doc.lines) return;
  const { top, height } = view.lineBlockAt(state.doc.line(line).from);
  scrollDOM.scrollTop = top - (scrollDOM.clientHeight - height) / 2;
  if (isAsked) view.dom.scrollIntoView({ block: "nearest" });
}

/** Scrolls to the end of a text that grows. */
export function scrollToEnd({ scrollDOM }: EditorView): void {
  scrollDOM.scrollTop = scrollDOM.scrollHeight;
}
