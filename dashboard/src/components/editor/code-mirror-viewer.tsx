import { defaultKeymap } from "@codemirror/commands";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useEffectEvent, useMemo, useRef } from "react";
import { decorationState, LINE_MARKS, setDecorations, TERMINAL_COLOURS } from "./decorations.ts";
import css from "./editor.module.css";
import { grammarOf } from "./grammars.ts";
import { continueLines, lineNumber, originalText, shownLine, shownPosition } from "./long-lines.ts";
import { scrollToEnd, scrollToLine } from "./scroll-target.ts";
import { SYNTAX_THEME } from "./syntax-theme.ts";
import type { ViewerProps } from "./viewer.tsx";

/** A view counts as scrolled to its end if fewer pixels than these are below it. */
const NEAR_END = 40;

const READ: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  // Only line feeds end lines. A carriage return is shown by name.
  EditorState.lineSeparator.of("\n"),
  EditorState.tabSize.of(4),
  search({ top: true }),
  keymap.of([...searchKeymap, ...defaultKeymap]),
  decorationState,
  TERMINAL_COLOURS,
  LINE_MARKS,
  SYNTAX_THEME,
];

/** A read-only text. Like the editor, it is in a shadow root (code-mirror.tsx). */
export default function CodeMirrorViewer(props: ViewerProps) {
  const { text, label, language, wrap, firstLine = 1, links, marked, target, searchRequests = 0, follow } = props;
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const grammar = useRef(new Compartment());
  const wrapping = useRef(new Compartment());
  const numbers = useRef(new Compartment());
  const { onLineChosen, onFollow } = props;
  const choose = useEffectEvent((line: number, file?: string) => onLineChosen?.(line, file));
  const followed = useEffectEvent((isAtEnd: boolean) => onFollow?.(isAtEnd));
  const isFollowing = useEffectEvent(() => follow === true);
  const now = useMemo(() => {
    const lines = continueLines(text.text);
    const moved = (positions: readonly number[]) => positions.map((position) => shownPosition(lines, position));
    const { styles, codes } = text;
    return { lines, marks: { starts: moved(text.starts), styles, names: moved(text.names), codes } };
  }, [text]);
  const shownLines = useRef(now.lines);
  shownLines.current = now.lines;

  useEffect(() => {
    const host = container.current;
    if (!host) return;
    let before = { scrollTop: 0, length: 0 };
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
            choose(Number(link.dataset.line), link.dataset.file);
            return true;
          },
          scroll: (_, { scrollDOM, state: { doc } }) => {
            const { scrollTop } = scrollDOM;
            // Only a person scrolls upwards: a growing text does not, and a replaced text has another length.
            if (isAtEnd(scrollDOM)) followed(true);
            else if (scrollTop < before.scrollTop && doc.length === before.length) followed(false);
            before = { scrollTop, length: doc.length };
          },
        }),
        EditorView.clipboardOutputFilter.of((_, { selection }) =>
          selection.ranges.map(({ from, to }) => originalText(shownLines.current, from, to)).join("\n"),
        ),
        READ,
      ],
    });
    const editor = new EditorView({ state, parent: root, root });
    view.current = editor;
    return () => editor.destroy();
  }, [label]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new label makes a new view, which needs the text
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { lines, marks } = now;
    const next = lines.text;
    const before = editor.state.doc;
    const isLonger = next.length >= before.length && next.startsWith(before.toString());
    const from = isLonger ? before.length : 0;
    editor.dispatch({
      changes: { from, to: before.length, insert: next.slice(from) },
      effects: setDecorations.of({
        ...marks,
        links: (links ?? []).map(({ from, to, ...place }) => ({
          from: shownPosition(lines, from),
          to: shownPosition(lines, to),
          ...place,
        })),
        marked: (marked ?? []).map((line) => shownLine(lines, line)),
        targetLine: target ? shownLine(lines, target.line) : null,
      }),
    });
    // The heights of new lines are known only after a measurement.
    if (isFollowing()) editor.requestMeasure({ read: () => {}, write: (_, measured) => scrollToEnd(measured) });
  }, [now, links, marked, target, label]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => {
    if (target)
      view.current?.requestMeasure({
        read: () => {},
        write: (_, editor) => scrollToLine(editor, { ...target, line: shownLine(now.lines, target.line) }),
      });
  }, [target, label, now]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => {
    view.current?.dispatch({
      effects: [
        wrapping.current.reconfigure(wrap ? EditorView.lineWrapping : []),
        numbers.current.reconfigure(
          lineNumbers({
            formatNumber: (shownAt) => {
              const line = lineNumber(shownLines.current, shownAt);
              return line === null ? "" : String(line + firstLine - 1);
            },
          }),
        ),
      ],
    });
  }, [wrap, firstLine, label]);

  useEffect(() => {
    if (searchRequests > 0 && view.current) openSearchPanel(view.current);
  }, [searchRequests]);

  useEffect(() => {
    if (follow && view.current) scrollToEnd(view.current);
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

  return <div ref={container} className={css.host} />;
}

function isAtEnd({ scrollTop, scrollHeight, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END;
}
