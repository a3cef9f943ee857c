import { NativeSelect, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import type { RUN_FILES, SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { addressOf, queries } from "../client/api.ts";
import { readInput, readOutput } from "../components/editor/printable-text.ts";
import type { ScrollTarget } from "../components/editor/scroll-target.ts";
import { Viewer } from "../components/editor/viewer.tsx";
import { size } from "../components/format.ts";
import { INTEGRITY_NOTES } from "./integrity-notes.ts";
import css from "./run-view.module.css";
import type { SourceMessage } from "./source-messages.ts";
import { isOpen, type LiveRun } from "./use-live-run.ts";

type Stream = "stdout" | "stderr";

/** The names of the source and the input among the parts of a program. They begin with a dot, because no path of a file does. */
export const SOURCE = ".source";
const STDIN = ".stdin";

interface Props {
  readonly of: SubmissionDetail;
  readonly live: LiveRun;
  /** The messages of compilers and runtimes in standard error. */
  readonly messages: readonly SourceMessage[];
  /** The line of the shown part to scroll to; null if there is none. */
  readonly target: ScrollTarget | null;
  readonly hasSource: boolean;
  /** The shown part of the program: SOURCE, STDIN, or the path of a further file. */
  readonly part: string;
  readonly onPart: (part: string) => void;
  readonly onLineChosen: (line: number, file?: string) => void;
}

/** The program on the left, and its output on the right. */
export function RunPanes({ hasSource, ...props }: Props) {
  return (
    <div className={css.panes} data-alone={!hasSource || undefined}>
      {hasSource && <ProgramPane {...props} />}
      <OutputPane {...props} />
    </div>
  );
}

function ProgramPane({
  of,
  messages,
  target,
  part,
  onPart,
}: Pick<Props, "of" | "messages" | "target" | "part" | "onPart">) {
  const { row, source, code, stdin, files } = of;
  const file = files.find(({ path }) => path === part);
  const content = useQuery({ ...queries.programFile(row.id, part), enabled: file?.isText === true });
  const parts = [
    { value: SOURCE, label: source },
    ...files.map(({ path, bytes, isText }) => ({
      value: path,
      label: `${path} ${size(bytes)}${isText ? "" : ", binary"}`,
    })),
    { value: STDIN, label: `stdin ${size(bytesOf(stdin))}` },
  ];
  const head =
    files.length === 0 ? (
      <SegmentedControl size="xs" aria-label="Program" value={part} onChange={onPart} data={parts} />
    ) : (
      <NativeSelect
        size="xs"
        aria-label="File of the program"
        value={part}
        onChange={({ currentTarget }) => onPart(currentTarget.value)}
        data={parts}
      />
    );
  const isStdin = part === STDIN;
  const text = file ? (content.data ?? "") : isStdin ? stdin : code;
  const label = file ? `File ${file.path}` : isStdin ? "Standard input" : "Source of the program";
  const marked = useMemo(
    () => messages.filter((one) => one.isError && (one.file ?? SOURCE) === part).map(({ line }) => line),
    [messages, part],
  );
  const readable = useMemo(() => readInput(text), [text]);
  const download = file
    ? addressOf(`/submissions/${row.id}/file`, { path: file.path })
    : fileOf(row.id, isStdin ? "stdin" : "source");
  if (file && !file.isText)
    return (
      <EmptyPane
        head={head}
        text={
          <>
            {`A binary file of ${size(file.bytes)}. `}
            <a href={download} download>
              Download {file.path}
            </a>
          </>
        }
      />
    );
  if (file && content.isPending) return <EmptyPane head={head} text="Loading the file." />;
  if (file && content.isError) return <EmptyPane head={head} text={content.error.message} />;
  if (text === "")
    return (
      <EmptyPane head={head} text={file ? "The file is empty." : isStdin ? "No input." : "The source is empty."} />
    );
  const marks = isStdin ? {} : { language: row.language, marked, target };
  return <Viewer key={part} head={head} label={label} text={readable} original={text} download={download} {...marks} />;
}

function OutputPane({
  of: detail,
  live,
  messages,
  onLineChosen,
}: Pick<Props, "of" | "live" | "messages" | "onLineChosen">) {
  const { row, record, cut, live: isStreamed, run } = detail;
  const { integrity } = record.output;
  const open = isOpen(detail);
  const ofCompiler = record.result.cause?.startsWith("compile_") ?? false;
  const texts = {
    stdout: open ? live.stdout.text : (record.output.stdout ?? ""),
    stderr: open ? live.stderr.text : (record.output.stderr ?? ""),
  };
  const [chosenStream, chooseStream] = useState<Stream>();
  const isFailure = !open && record.result.verdict !== "AC";
  const shown =
    ofCompiler ||
    (chosenStream ?? (texts.stderr !== "" && (isFailure || texts.stdout === "") ? "stderr" : "stdout")) === "stderr"
      ? "stderr"
      : "stdout";
  const names = { stdout: "Standard output", stderr: ofCompiler ? "Messages of the compiler" : "Standard error" };
  const isCut = integrity === "truncated_by_judge_limit";
  const streams: readonly Stream[] = ofCompiler ? ["stderr"] : ["stdout", "stderr"];
  const head = (
    <SegmentedControl
      size="xs"
      aria-label="Output"
      value={shown}
      onChange={(next) => chooseStream(next === "stderr" ? "stderr" : "stdout")}
      data={streams.map((stream) => ({
        value: stream,
        label: `${ofCompiler ? "compiler" : stream} ${size(bytesOf(texts[stream]))}${cut?.includes(stream) ? ", cut off" : ""}`,
      }))}
    />
  );
  const links = useMemo(() => messages.map(({ from, to, line, file }) => ({ from, to, line, file })), [messages]);
  const text = texts[shown];
  const readable = useMemo(() => readOutput(text), [text]);
  const notes = [
    isCut && (cut === null || cut.includes(shown)) && INTEGRITY_NOTES.truncated_by_judge_limit,
    !open && !isCut && text !== "" && integrity !== null && INTEGRITY_NOTES[integrity],
    open &&
      live[shown].isCut &&
      "Earlier output is not shown here. The record will contain the whole output, up to the output limit.",
    open && !isStreamed && (run ? NOT_OF_TESTS : NOT_STREAMED),
  ].filter(Boolean);
  const below = notes.map((note) => (
    <p key={String(note)} className={note === NOT_STREAMED || note === NOT_OF_TESTS ? css.hint : css.note}>
      {note === NOT_STREAMED ? (
        <>
          The output of this run appears when the run has ended. To see output earlier, submit with{" "}
          <code>"stream": true</code>.
        </>
      ) : (
        note
      )}
    </p>
  ));
  const nothing = open ? "No output yet." : integrity === null ? "No output was stored." : "No output.";
  return (
    <div className={css.pane}>
      {text === "" ? (
        <EmptyPane head={head} text={nothing} />
      ) : (
        <Viewer
          key={shown}
          head={head}
          label={names[shown]}
          text={readable}
          original={text}
          isLive={open}
          firstLine={open ? live[shown].firstLine : 1}
          download={open ? null : fileOf(row.id, shown)}
          links={shown === "stderr" && !open ? links : []}
          onLineChosen={onLineChosen}
        />
      )}
      {below}
    </div>
  );
}

const NOT_STREAMED = "not streamed";
const NOT_OF_TESTS = "The output of a run of a judgement appears when the run has ended.";

function EmptyPane({ head, text }: { head: ReactNode; text: ReactNode }) {
  return (
    <div className={css.pane}>
      <div className={css.paneHead}>{head}</div>
      <p className={css.empty}>{text}</p>
    </div>
  );
}

function fileOf(id: string, name: (typeof RUN_FILES)[number]): string {
  return addressOf(`/submissions/${id}/files/${name}`);
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
