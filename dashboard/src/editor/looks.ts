import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Colours are variables of editor.module.css, which also apply in the shadow root. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.character, tags.regexp, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.escape], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-note)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.macroName, tags.meta], color: "var(--code-type)" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.variableName)],
    color: "var(--code-name)",
  },
]);

const THEME = EditorView.theme({
  "&": {
    height: "100%",
    maxHeight: "inherit",
    color: "var(--ink)",
    backgroundColor: "var(--card)",
    fontSize: "0.8125rem",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunk)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.4rem" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)",
  },
  ".cm-content ::selection, .cm-line::selection": { backgroundColor: "var(--code-chosen)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--code-chosen)" },
});

export const LOOKS: Extension = [THEME, syntaxHighlighting(COLOURS)];
