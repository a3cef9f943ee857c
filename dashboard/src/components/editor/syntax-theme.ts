import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The colours are variables of editor.module.css, because variables also apply in the shadow root. */
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
  ".cm-marked": { backgroundColor: "var(--bad-tint)" },
  ".cm-chosen": { boxShadow: "inset 3px 0 0 var(--bad)" },
  "a[data-line]": { color: "var(--accent)", cursor: "pointer" },
  ".cm-control": {
    margin: "0 1px",
    padding: "0 0.2em",
    borderRadius: "2px",
    backgroundColor: "var(--warn-tint)",
    color: "var(--warn)",
    fontSize: "0.7rem",
  },
  ".cm-bold": { fontWeight: "700" },
  ".cm-faint, .cm-black, .cm-white": { color: "var(--soft)" },
  ".cm-italic": { fontStyle: "italic" },
  ".cm-underline": { textDecoration: "underline" },
  ".cm-strike": { textDecoration: "line-through" },
  ".cm-red": { color: "var(--bad)" },
  ".cm-green": { color: "var(--good)" },
  ".cm-yellow": { color: "var(--warn)" },
  ".cm-blue": { color: "var(--code-name)" },
  ".cm-magenta": { color: "var(--code-keyword)" },
  ".cm-cyan": { color: "var(--code-type)" },
  ".cm-panels": { backgroundColor: "var(--sunk)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "0.4rem 2rem 0.4rem 0.5rem", fontSize: "0.8rem" },
  ".cm-panel.cm-search label": { fontSize: "0.78rem", whiteSpace: "nowrap" },
  ".cm-textfield": {
    border: "1px solid var(--line)",
    borderRadius: "3px",
    backgroundColor: "var(--card)",
    color: "var(--ink)",
  },
  ".cm-button": {
    border: "1px solid var(--line)",
    borderRadius: "3px",
    background: "var(--card)",
    color: "var(--ink)",
  },
  ".cm-panel.cm-search [name=close]": { color: "var(--ink)" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-tint)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--code-chosen)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--code-chosen)" },
});

export const SYNTAX_THEME: Extension = [THEME, syntaxHighlighting(COLOURS)];
