import { defaultKeymap } from "@codemirror/commands";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useEffectEvent, useMemo, useRef } from "react";
import { readColours } from "./ansi.ts";
import css from "./editor.module.css";
import { grammarOf } from "./grammars.ts";
import { LOOKS } from "./looks.ts";
import { COLOURING, CONTROLS, MARKS, NOTHING, show, shown } from "./shown.ts";
import type { ViewerProps } from "./viewer.tsx";

/** Pixels from the end that still count as the end. */
const NEAR_END = 40;

const READ: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  // Only line feeds end lines: a lone carriage return is shown.
  EditorState.lineSeparator.of("\n"),
  EditorState.tabSize.of(4),
  search({ top: true }),
  keymap.of([...searchKeymap, ...defaultKeymap]),
  shown,
  COLOURING,
  MARKS,
  CONTROLS,
  LOOKS,
];

/** A text that is only read, in a shadow root like the editor. */
export default function CodeMirrorViewer(props: ViewerProps) {
  const { text, label, language, wrap, firstLine = 1, links, marked, chosen, searching = 0, follow } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const grammar = useRef(new Compartment());
  const wrapping = useRef(new Compartment());
  const numbers = useRef(new Compartment());
  const { onLine, onFollow } = props;
  const choose = useEffectEvent((line: number) => onLine?.(line));
  const followed = useEffectEvent((isAtEnd: boolean) => onFollow?.(isAtEnd));
  const isFollowing = useEffectEvent(() => follow === true);
  const coloured = useMemo(() => (language === undefined ? readColours(text) : { ...NOTHING, text }), [text, language]);

  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const state = EditorState.create({
      extensions: [
        numbers.current.of([]),
        wrapping.current.of([]),
        grammar.current.of([]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }),
        EditorView.domEventHandlers({
          click: (event) => {
            const link = event.target instanceof Element ? event.target.closest("a[data-line]") : null;
            if (!(link instanceof HTMLElement)) return false;
            event.preventDefault();
            choose(Number(link.dataset.line));
            return true;
          },
          // Only a person scrolls upwards; text that grows below does not.
          wheel: (_, { scrollDOM }) => followed(isAtEnd(scrollDOM)),
          scroll: (_, { scrollDOM }) => {
            if (isAtEnd(scrollDOM)) followed(true);
          },
        }),
        READ,
      ],
    });
    const editor = new EditorView({ state, parent: root, root });
    view.current = editor;
    return () => editor.destroy();
  }, [label]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new view has a new label, and needs its text
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { text: next, starts, styles } = coloured;
    const before = editor.state.doc;
    const isLonger = next.length >= before.length && next.startsWith(before.toString());
    const from = isLonger ? before.length : 0;
    editor.dispatch({
      changes: { from, to: before.length, insert: next.slice(from) },
      effects: show.of({ starts, styles, links: links ?? [], marked: marked ?? [], chosen: chosen?.line ?? null }),
    });
    if (isFollowing()) editor.dispatch({ effects: EditorView.scrollIntoView(editor.state.doc.length, { y: "end" }) });
  }, [coloured, links, marked, chosen, label]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => {
    const editor = view.current;
    if (!editor || !chosen || chosen.line > editor.state.doc.lines) return;
    const { from } = editor.state.doc.line(chosen.line);
    editor.dispatch({ effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }, [chosen, label, coloured]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => {
    view.current?.dispatch({
      effects: [
        wrapping.current.reconfigure(wrap ? EditorView.lineWrapping : []),
        numbers.current.reconfigure(lineNumbers({ formatNumber: (line) => String(line + firstLine - 1) })),
      ],
    });
  }, [wrap, firstLine, label]);

  useEffect(() => {
    if (searching > 0 && view.current) openSearchPanel(view.current);
  }, [searching]);

  useEffect(() => {
    if (follow && view.current)
      view.current.dispatch({ effects: EditorView.scrollIntoView(view.current.state.doc.length, { y: "end" }) });
  }, [follow]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => {
    let isWanted = true;
    if (language === undefined) return;
    grammarOf(language).then((extension) => {
      if (isWanted) view.current?.dispatch({ effects: grammar.current.reconfigure(extension) });
    });
    return () => {
      isWanted = false;
    };
  }, [language, label]);

  return <div ref={place} className={css.place} />;
}

function isAtEnd({ scrollTop, scrollHeight, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END;
}
