import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { styleAt, styleNames } from "./ansi.ts";
import { nameOf } from "./control-characters.ts";

/** What is shown in a text in addition to its characters. */
export interface DecorationState {
  /** Styles and names of control characters, as in PrintableText. */
  readonly starts: readonly number[];
  readonly styles: readonly number[];
  readonly names: readonly number[];
  readonly codes: readonly number[];
  readonly links: readonly TextLink[];
  /** Numbers of the lines with a message, from 1. */
  readonly marked: readonly number[];
  /** Number of the line of the present ScrollTarget; null if there is none. */
  readonly targetLine: number | null;
}

/** A part of the text that links to a line of another text, such as an error message that links to a line of the source. */
export interface TextLink {
  readonly from: number;
  readonly to: number;
  readonly line: number;
  /** The path of the other text, if it is a further file of the program; absent for the source. */
  readonly file?: string | undefined;
}

export const NO_DECORATIONS: DecorationState = {
  starts: [],
  styles: [],
  names: [],
  codes: [],
  links: [],
  marked: [],
  targetLine: null,
};

export const setDecorations = StateEffect.define<DecorationState>();

export const decorationState = StateField.define<DecorationState>({
  create: () => NO_DECORATIONS,
  update: (value, { effects }) =>
    effects.reduce((now, effect) => (effect.is(setDecorations) ? effect.value : now), value),
});

/**
 * The styles, and the marks on the names of control characters. They are made only for the visible part, because a text can have
 * many.
 */
export const TERMINAL_COLOURS = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = colours(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged || changed(update)) this.decorations = colours(update.view);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

function colours({ state, visibleRanges }: EditorView): DecorationSet {
  const { starts, styles, names, codes } = state.field(decorationState);
  const ranges = visibleRanges.flatMap(({ from, to }) => {
    const found = [];
    for (let at = Math.max(0, styleAt(starts, from)); (starts[at] ?? to) < to; at++) {
      const [begin, end] = [Math.max(from, starts[at] ?? 0), Math.min(to, starts[at + 1] ?? to)];
      const styleClasses = styleNames(styles[at] ?? 0);
      if (styleClasses.length > 0 && begin < end)
        found.push(Decoration.mark({ class: styleClasses.map((word) => `cm-${word}`).join(" ") }).range(begin, end));
    }
    for (let at = Math.max(0, styleAt(names, from)); (names[at] ?? to) < to; at++) {
      const { name, title } = nameOf(codes[at] ?? 0);
      const [begin, end] = [Math.max(from, names[at] ?? 0), Math.min(to, (names[at] ?? 0) + name.length)];
      if (begin < end) found.push(Decoration.mark({ class: "cm-control", attributes: { title } }).range(begin, end));
    }
    return found;
  });
  return Decoration.set(ranges, true);
}

/** The marks of the lines with messages and of the target line, and the links. */
export const LINE_MARKS = EditorView.decorations.compute([decorationState, "doc"], (state) => {
  const { links, marked, targetLine } = state.field(decorationState);
  const lines = [...new Set(targetLine === null ? marked : [...marked, targetLine])].filter(
    (line) => line <= state.doc.lines,
  );
  return Decoration.set(
    [
      ...lines.map((line) =>
        Decoration.line({ class: line === targetLine ? "cm-marked cm-chosen" : "cm-marked" }).range(
          state.doc.line(line).from,
        ),
      ),
      ...links
        .filter(({ to }) => to <= state.doc.length)
        .map(({ from, to, line, file }) => {
          const attributes = { "data-line": String(line), ...(file !== undefined && { "data-file": file }) };
          return Decoration.mark({ tagName: "a", attributes: { href: "#source", ...attributes } }).range(from, to);
        }),
    ],
    true,
  );
});

function changed({ startState, state }: ViewUpdate): boolean {
  return startState.field(decorationState) !== state.field(decorationState);
}
