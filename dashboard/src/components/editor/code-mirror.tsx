import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { Compartment, EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { decorationState, LINE_MARKS, NO_DECORATIONS, setDecorations } from "./decorations.ts";
import css from "./editor.module.css";
import type { EditorProps } from "./editor.tsx";
import { grammarOf } from "./grammars.ts";
import { scrollToLine } from "./scroll-target.ts";
import { SYNTAX_THEME } from "./syntax-theme.ts";

/**
 * Inserts text that is typed over a selection. Otherwise, Chromium would insert it with a style attribute, which the
 * Content-Security-Policy forbids.
 */
const TYPED_OVER = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    if (inputType !== "insertText" || data === null || view.composing || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const WRITABLE: Extension = [
  TYPED_OVER,
  history(),
  indentOnInput(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  keymap.of([...historyKeymap, indentWithTab]),
];

/** A read-only editor can have the focus, so that it can be scrolled by keyboard. */
const READ_ONLY: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ tabindex: "0" }),
];

/**
 * The editor. It is in a shadow root, to which CodeMirror adds its styles by script. Outside of a shadow root, CodeMirror would add
 * style elements, which the Content-Security-Policy forbids.
 */
export default function CodeMirror({ text, language, label, readOnly, target = null, onChange, onRun }: EditorProps) {
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useEffectEvent((next: string) => onChange?.(next));
  const run = useEffectEvent(() => onRun?.());
  const grammar = useRef(new Compartment());
  const first = useEffectEvent(() => text);

  useEffect(() => {
    const host = container.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const state = EditorState.create({
      doc: first(),
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: handled(run) }])),
        lineNumbers(),
        bracketMatching(),
        EditorState.tabSize.of(4),
        indentUnit.of("    "),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label }),
        readOnly ? READ_ONLY : WRITABLE,
        keymap.of(defaultKeymap),
        grammar.current.of([]),
        decorationState,
        LINE_MARKS,
        SYNTAX_THEME,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    });
    const editor = new EditorView({ state, parent: root, root });
    view.current = editor;
    return () => editor.destroy();
  }, [label, readOnly]);

  useEffect(() => {
    const editor = view.current;
    // Typed text is already in the editor. A text from elsewhere replaces it as one change, which can be undone.
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const line = target && target.line <= editor.state.doc.lines ? target.line : null;
    editor.dispatch({ effects: setDecorations.of({ ...NO_DECORATIONS, targetLine: line }) });
    if (target) scrollToLine(editor, target);
  }, [target]);

  useEffect(() => {
    let isWanted = true;
    grammarOf(language).then((extension) => {
      if (isWanted) view.current?.dispatch({ effects: grammar.current.reconfigure(extension) });
    });
    return () => {
      isWanted = false;
    };
  }, [language]);

  return <div ref={container} className={css.host} />;
}

/** A key binding that also prevents the default action. */
function handled(what: () => void): () => boolean {
  return () => {
    what();
    return true;
  };
}
