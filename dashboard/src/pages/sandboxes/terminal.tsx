import "@xterm/xterm/css/xterm.css";
import { Button, Switch } from "@mantine/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import { useEffect, useId, useRef, useState } from "react";
import type { ExecutionRow } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { addressOf } from "../../client/api.ts";
import { sentence, size } from "../../components/format.ts";
import { toast } from "../../components/toaster.tsx";
import { Verdict } from "../../components/verdict.tsx";
import css from "./terminal.module.css";
import { type LinkState, TerminalLink } from "./terminal-link.ts";

/** Lines that a person can scroll back to. */
const SCROLLBACK = 5_000;
/** A change of the window makes many sizes; programs draw themselves anew for each that they get. */
const RESIZE_MS = 100;
/** Sequences by which a program would set a link (8) or the clipboard (52). A program of a sandbox can be hostile, so they do nothing. */
const IGNORED_OSC = [8, 52];
const STORED_READER = "assay-terminal-reader";

export interface TerminalProps {
  readonly sandboxId: string;
  readonly number: number;
  /**
   * Whether it was just started. What an older one has written is shown again, and must not make this page answer the questions in it again,
   * such as those for the position of the cursor: the answer would be input that nobody has typed.
   */
  readonly isNew: boolean;
  readonly onEnded: () => void;
  readonly onClose: () => void;
}

/** A terminal. All output is only given to xterm, never to the page. */
export default function Terminal({ sandboxId, number, isNew, onEnded, onClose }: TerminalProps) {
  const whole = useRef<HTMLElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const leave = useRef<HTMLButtonElement>(null);
  const shown = useRef<{ readonly xterm: Xterm; readonly link: TerminalLink }>(null);
  const ended = useRef(onEnded);
  ended.current = onEnded;
  const [state, setState] = useState<LinkState>({ kind: "connecting" });
  const [reader, setReader] = useState(() => localStorage.getItem(STORED_READER) === "on");
  const isReader = useRef(reader);
  const hint = useId();

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const xterm = newXterm(isReader.current);
    const fit = new FitAddon();
    xterm.loadAddon(fit);
    xterm.open(element);
    fit.fit();
    let answers = isNew;
    const link = new TerminalLink({
      addressFrom: (stdout) =>
        new URL(addressOf(`/sandboxes/${sandboxId}/executions/${number}/attach`, { stdout }), location.href),
      write: (bytes, done) => xterm.write(bytes, done),
      skip: (bytes) => {
        xterm.reset();
        xterm.write(`\x1b[7m${size(bytes)} of output are no longer stored.\x1b[0m\r\n`);
      },
      changed: (next) => {
        setState(next);
        xterm.options.disableStdin = next.kind !== "open";
        if (next.kind === "open") link.resize(xterm.rows, xterm.cols);
        if (next.kind === "ended") ended.current();
      },
    });
    shown.current = { xterm, link };
    xterm.onData((text) => answers && link.type(text));
    xterm.onBinary((text) => answers && link.typeBytes(text));
    for (const event of ["keydown", "paste", "pointerdown", "compositionstart"])
      element.addEventListener(
        event,
        () => {
          answers = true;
        },
        { capture: true },
      );
    xterm.attachCustomKeyEventHandler((event) => ownKey(event, xterm, () => leave.current?.focus()));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => fit.fit(), RESIZE_MS);
    });
    observer.observe(element);
    xterm.onResize(({ rows, cols }) => link.resize(rows, cols));
    // The focus alone would not scroll to it, and xterm draws nothing while it is out of sight.
    whole.current?.scrollIntoView({ block: "nearest" });
    xterm.focus();
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      link.close();
      xterm.dispose();
      shown.current = null;
    };
  }, [sandboxId, number, isNew]);

  const switchReader = (on: boolean) => {
    setReader(on);
    if (on) localStorage.setItem(STORED_READER, "on");
    else localStorage.removeItem(STORED_READER);
    if (shown.current) shown.current.xterm.options.screenReaderMode = on;
  };
  const isOver = state.kind === "ended" || state.kind === "refused";
  return (
    <section ref={whole} className={css.terminal} aria-label={`Terminal ${number}`} aria-describedby={hint}>
      <div className={css.bar}>
        <p role="status" className={css.state} data-kind={state.kind}>
          <span>Terminal {number}:</span> <State of={state} />
        </p>
        <Switch
          size="xs"
          label="For screen readers"
          checked={reader}
          onChange={({ currentTarget }) => switchReader(currentTarget.checked)}
        />
        {!isOver && (
          <Button variant="default" size="compact-sm" onClick={() => shown.current?.link.kill()}>
            Kill
          </Button>
        )}
        <Button ref={leave} variant="default" size="compact-sm" onClick={onClose}>
          {isOver ? "Close" : "Disconnect"}
        </Button>
      </div>
      <div className={css.frame}>
        <div ref={place} className={css.place} />
      </div>
      <p id={hint} className={css.hint}>
        Every key is for the program, also Tab. To leave with the keyboard, press <kbd>Ctrl</kbd> <kbd>Shift</kbd>{" "}
        <kbd>Enter</kbd>. <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>C</kbd> copies what is selected, and <kbd>Shift</kbd>{" "}
        <kbd>Insert</kbd> pastes.
      </p>
    </section>
  );
}

function State({ of: state }: { of: LinkState }) {
  switch (state.kind) {
    case "connecting":
      return "connecting.";
    case "open":
      return "connected.";
    case "lost":
      return (
        <>
          the connection is lost{state.reason !== null && `: ${state.reason}`}. It is made again; the program continues.
        </>
      );
    case "refused":
      return sentence(state.reason);
    default:
      return <Ended of={state.execution} />;
  }
}

function Ended({ of: execution }: { of: ExecutionRow }) {
  return (
    <>
      it has ended: <Verdict of={execution} />
    </>
  );
}

function newXterm(screenReaderMode: boolean): Xterm {
  const xterm = new Xterm({
    screenReaderMode,
    scrollback: SCROLLBACK,
    disableStdin: true,
    fontFamily: 'ui-monospace, "Cascadia Code", "DejaVu Sans Mono", Menlo, Consolas, monospace',
    fontSize: 13,
    lineHeight: 1.15,
    // Programs choose their colours without knowing the background.
    minimumContrastRatio: 4.5,
    logLevel: "off",
    theme: { background: "#101413", foreground: "#e7ebe6", cursor: "#7fc8c0", selectionBackground: "#3d4745" },
  });
  for (const ident of IGNORED_OSC) xterm.parser.registerOscHandler(ident, () => true);
  return xterm;
}

/** @returns whether the key is for the program. */
function ownKey(event: KeyboardEvent, xterm: Xterm, leave: () => void): boolean {
  const { type, ctrlKey, shiftKey, altKey, metaKey, code } = event;
  if (!ctrlKey || !shiftKey || altKey || metaKey) return true;
  if (code === "Enter" || code === "NumpadEnter") {
    event.preventDefault();
    if (type === "keydown") leave();
    return false;
  }
  // The browser pastes.
  if (code === "KeyV") return false;
  if (code !== "KeyC") return true;
  event.preventDefault();
  if (type === "keydown" && xterm.hasSelection()) void copy(xterm.getSelection());
  return false;
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast("The browser does not permit this page to copy.", "bad");
  }
}
