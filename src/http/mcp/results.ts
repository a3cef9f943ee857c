import { z } from "zod";
import { explain } from "../../domain/explain/explanation.ts";
import { countText } from "../../domain/explain/units.ts";
import { LongText } from "../../domain/json-pieces.ts";
import { JUDGEMENT_VERDICTS, type Judgement, verdictIn } from "../../domain/judgement.ts";
import { type LongRecord, toLongRecord } from "../../domain/record.ts";
import { isTerminal, type Submission } from "../../domain/submission.ts";
import { status, verdict } from "../api/fields.ts";

/** The most bytes of an output in a result, and of a page of an output. They are few, because a model reads them all. */
export const SHOWN_BYTES = 16_384;
/** What a page is made of: the bytes after it say whether it ends between two characters. */
export const PAGE_BYTES = SHOWN_BYTES + 4;
/** The most bytes of an output of a case that did not pass. */
const CASE_BYTES = 2_048;
/** The most cases that have their output in a result: the first ones that did not pass. */
export const FAILED_SHOWN = 3;
/** The most cases in a result. If there are more, the result has only cases that did not pass. */
const MAX_SHOWN_CASES = 50;

const count = z.int().min(0);

export const output = z.strictObject({
  text: z
    .string()
    .describe("Invalid UTF-8 becomes U+FFFD. A long output is shortened to its beginning, a note, and its end"),
  bytes: count.describe("Size of the whole output"),
  left_out_bytes: count.describe("Bytes that are not in `text`, which says how to read them"),
});

export const runResult = z.strictObject({
  id: z.uuid(),
  status,
  language: z.string(),
  verdict: verdict.nullable().describe("Null until the run has ended"),
  why: z.string().describe("The reason for the verdict, or for its absence"),
  exit_code: z.int().nullable(),
  signal: z.int().nullable(),
  wall_time_secs: z.number().nullable(),
  cpu_time_secs: z.number().nullable(),
  memory_peak_bytes: count.nullable(),
  stdout: output.nullable().describe("Null until the run has ended, and if the platform failed"),
  stderr: output.nullable().describe("It includes the messages of the compiler"),
});

const judgedCase = z.strictObject({
  number: z.int().min(1).describe("Position of the case in the request, from 1"),
  verdict: z.enum(JUDGEMENT_VERDICTS).nullable().describe("Null if the case did not run"),
  passed: z.boolean(),
  message: z.string().nullable().describe("The first difference, or the reason for the platform's failure"),
  run_id: z.uuid().nullable().describe("The id of the run, for get_result"),
  stdout: output.nullable().describe(`Null, except for the first ${FAILED_SHOWN} cases that ran and did not pass`),
  stderr: output.nullable(),
});

export const judgeResult = z.strictObject({
  id: z.uuid(),
  status,
  language: z.string(),
  verdict: z
    .enum(JUDGEMENT_VERDICTS)
    .nullable()
    .describe(
      "AC if all cases passed, otherwise the verdict of the first case that did not pass; null until the judgement has ended. WA: " +
        "the output is wrong. CE: the program does not compile",
    ),
  why: z.string().describe("The reason for the verdict, or for its absence"),
  passed: count,
  total: count,
  cases: z.array(judgedCase).max(MAX_SHOWN_CASES),
});

export const outputPage = z.strictObject({
  id: z.uuid(),
  stream: z.enum(["stdout", "stderr"]),
  offset: count,
  text: z.string(),
  bytes: count.describe("Size of the whole output"),
  next_offset: count.nullable().describe("Null at the end"),
});

type Run = z.output<typeof runResult>;
type Judged = z.output<typeof judgeResult>;

/** The result of a tool. */
export interface ToolResult<T> {
  readonly value: T;
  /** The result as texts for the model: first the facts, then each output in a text of its own, so that it cannot pass for a fact. */
  readonly texts: readonly string[];
}

/** @param holdMs how long the tool waits for the end of a run. */
export function showRun(submission: Submission, holdMs: number): ToolResult<Run> {
  const record = toLongRecord(submission);
  const { id, language, result, metrics } = record;
  const value: Run = {
    id,
    status: record.status,
    language,
    verdict: submission.outcome?.result.verdict ?? null,
    why: whyOf(record, submission) ?? notEnded(holdMs),
    exit_code: result.exit_code,
    signal: result.signal,
    wall_time_secs: metrics.wall_time_secs,
    cpu_time_secs: metrics.cpu_time_secs,
    memory_peak_bytes: metrics.memory_peak_bytes,
    stdout: excerptOfRun(record, "stdout", SHOWN_BYTES),
    stderr: excerptOfRun(record, "stderr", SHOWN_BYTES),
  };
  const facts = [
    `${value.verdict ?? value.status}: ${value.why}`,
    ...(value.wall_time_secs === null
      ? []
      : [`Wall time ${value.wall_time_secs} s, CPU time ${value.cpu_time_secs} s.`]),
    `Run ${id}.`,
  ];
  return { value, texts: [facts.join("\n"), ...outputsOf(value)] };
}

/** @param failed the submissions of the first cases that did not pass, by the number of the case, from 1. @param holdMs as for showRun(). */
export function showJudgement(
  judgement: Judgement,
  failed: ReadonlyMap<number, Submission>,
  holdMs: number,
): ToolResult<Judged> {
  const { id, status: now, language, verdict: whole, states } = judgement;
  const runs = new Map(judgement.runs.map((run) => [run.test, run]));
  const all = states.map((state, test) => {
    const number = test + 1;
    const submission = failed.get(number);
    const record = submission && toLongRecord(submission);
    return {
      number,
      verdict: verdictIn(state),
      passed: verdictIn(state) === "AC",
      message: runs.get(test)?.message ?? null,
      run_id: runs.get(test)?.submissionId ?? null,
      stdout: record ? excerptOfRun(record, "stdout", CASE_BYTES) : null,
      stderr: record ? excerptOfRun(record, "stderr", CASE_BYTES) : null,
    };
  });
  const passed = all.filter((one) => one.passed).length;
  const shown = all.length <= MAX_SHOWN_CASES ? all : all.filter((one) => !one.passed);
  const value: Judged = {
    id,
    status: now,
    language,
    verdict: whole,
    why: isTerminal(now) ? whyJudged(judgement, failed, passed) : notEnded(holdMs),
    passed,
    total: all.length,
    cases: shown.slice(0, MAX_SHOWN_CASES),
  };
  const lines = value.cases.map(
    (one) => `Case ${one.number}: ${one.verdict ?? "not run"}${one.message === null ? "" : `, ${one.message}`}`,
  );
  const facts = [`${whole ?? now}: ${value.why}`, ...lines, `Judgement ${id}.`].join("\n");
  return { value, texts: [facts, ...value.cases.flatMap((one) => outputsOf(one, `case ${one.number}, `))] };
}

/** A page of an output. */
export function showPage(
  id: string,
  stream: "stdout" | "stderr",
  bytes: Buffer,
  offset: number,
): ToolResult<z.output<typeof outputPage>> {
  const page = bytes.subarray(offset, offset + PAGE_BYTES);
  const { text, next, title } = textPage(stream, page, offset, bytes.length);
  const value = { id, stream, offset, text, bytes: bytes.length, next_offset: next };
  return { value, texts: [title, text] };
}

/**
 * A page of a text, which ends between two characters if the text is UTF-8. @param part PAGE_BYTES from the offset on, or what there is.
 * @param size of the whole text. @returns `next`: where the next page begins; null at the end.
 */
export function textPage(
  name: string,
  part: Buffer,
  offset: number,
  size: number,
): { readonly text: string; readonly next: number | null; readonly title: string } {
  const end = boundary(part, Math.min(part.length, SHOWN_BYTES));
  const next = offset + end < size ? offset + end : null;
  const more = next === null ? "the end" : `more at offset ${next}`;
  const title = `${name}, bytes ${offset} to ${offset + end} of ${size}, ${more}:`;
  return { text: new LongText(part.subarray(0, end)).toString(), next, title };
}

function notEnded(holdMs: number): string {
  return `It did not end within ${holdMs / 1000} s and continues: call get_result with its id.`;
}

function whyOf(record: LongRecord, { outcome }: Submission): string | undefined {
  const text = explain(record, outcome?.runStats)?.text;
  return text && firstSentence(text);
}

function whyJudged(
  { states, runs, verdict: whole }: Judgement,
  failed: ReadonlyMap<number, Submission>,
  passed: number,
) {
  if (whole === "AC") return `All ${countText(passed, "case")} passed.`;
  const test = states.findIndex((state) => state !== "skipped" && verdictIn(state) !== "AC");
  const { message = null } = runs.find((run) => run.test === test) ?? {};
  const submission = failed.get(test + 1);
  const why = message ?? (submission && whyOf(toLongRecord(submission), submission)) ?? "the judgement ended early";
  return `${countText(passed, "case")} of ${states.length} passed. Case ${test + 1}: ${why}`;
}

/** The first sentence of a text. A sentence ends with a full stop before a capital letter; a point in a number or a name ends none. */
function firstSentence(text: string): string {
  return /^.*?[.](?=\s+\p{Lu}|$)/su.exec(text)?.[0] ?? text;
}

export function outputsOf({ stdout, stderr }: Pick<Run, "stdout" | "stderr">, where = ""): string[] {
  return Object.entries({ stdout, stderr }).flatMap(([stream, one]) =>
    one && one.bytes > 0 ? [`${where}${stream}, ${countText(one.bytes, "byte")}:\n${one.text}`] : [],
  );
}

function excerptOfRun({ output: all, id }: LongRecord, stream: "stdout" | "stderr", most: number): Run["stdout"] {
  const more = (offset: number) => `get_result with id "${id}", stream "${stream}", offset ${offset}`;
  return excerptOf(all[stream], most, more);
}

/** The beginning and the end of a long output. @param more how to read the output from an offset on, for the model. */
export function excerptOf(whole: LongText | null, most: number, more: (offset: number) => string): Run["stdout"] {
  if (whole === null) return null;
  const { bytes } = whole;
  if (bytes.length <= most) return { text: whole.toString(), bytes: bytes.length, left_out_bytes: 0 };
  // The end of an output often has the reason of a failure.
  const headEnd = boundary(bytes, (most / 4) * 3);
  const tailStart = boundary(bytes, bytes.length - most / 4);
  const left = tailStart - headEnd;
  const note = `\n[${left} bytes left out: ${more(headEnd)}]\n`;
  const text = [bytes.subarray(0, headEnd), bytes.subarray(tailStart)].map((part) => new LongText(part).toString());
  return { text: text.join(note), bytes: bytes.length, left_out_bytes: left };
}

/** The last place up to `at` that is between two characters, if the bytes are UTF-8; otherwise `at`. */
function boundary(bytes: Buffer, at: number): number {
  for (let place = at; place > at - 4 && place > 0; place--)
    if (place === bytes.length || ((bytes[place] ?? 0) & 0xc0) !== 0x80) return place;
  return at;
}
