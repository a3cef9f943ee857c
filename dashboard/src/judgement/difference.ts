import { diffArrays } from "diff";
import {
  firstDifference,
  firstDifferentLine,
  firstDifferentWord,
  isBlank,
  Lines,
  Words,
} from "../../../src/domain/text-parts.ts";
import type { JudgedChecker } from "../../../src/http/dashboard/api/judgements.ts";

/**
 * Bounds of the search for the smallest difference. If they are exceeded, each line is compared with the line of the same
 * number.
 */
const MOST_EDITS = 1_000;
const MOST_MS = 300;
/** Number of equal lines that are shown before and after a difference. */
const AROUND = 3;
/** The greatest number of rows that are shown. */
const MOST_ROWS = 200;

export interface Line {
  /** The number of the line, from 1. */
  readonly number: number;
  readonly text: string;
}

/** A line of the answer next to a line of the output. One of the two can be missing. */
export interface AlignedLines {
  readonly kind: "same" | "different";
  readonly expected: Line | null;
  readonly got: Line | null;
}

export interface Difference {
  /** The rows in order. A number stands for that many equal rows, which are left out. */
  readonly rows: readonly (AlignedLines | number)[];
  /** Number of different rows that are not shown, because they are after the last shown row. */
  readonly hidden: number;
  /** Whether the lines are aligned. If the texts differ too much, line n of one is simply next to line n of the other. */
  readonly aligned: boolean;
  /** Whether the lines of both texts are sorted, because the checker ignores their order. */
  readonly sorted: boolean;
}

/** A line with its bytes, which checkers compare. */
interface EncodedLine extends Line {
  readonly bytes: Uint8Array;
}

/**
 * Compares the answer and the output line by line, by the rules of the checker. If the checker is a program, the rules are those of
 * `lines`. Null for `regex`, which compares no lines.
 */
export function difference(expected: string, got: string, checker: JudgedChecker): Difference | null {
  const compare = COMPARE[checker.type];
  if (!compare) return null;
  const isSame = (a: EncodedLine, b: EncodedLine) => compare(a.bytes, b.bytes, checker);
  const sorted = checker.type === "unordered_lines";
  const [left, right] = [linesOf(expected, checker.type), linesOf(got, checker.type)];
  if (sorted) for (const lines of [left, right]) lines.sort((a, b) => (a.text < b.text ? -1 : 1));
  const changes = diffArrays(left, right, { comparator: isSame, maxEditLength: MOST_EDITS, timeout: MOST_MS });
  const rows = changes ? aligned(changes, left, right) : byNumber(left, right, isSame);
  return { ...shortened(rows), aligned: changes !== undefined, sorted };
}

/** Whether a checker accepts a line of the output for a line of the answer. */
type Compare = (expected: Uint8Array, got: Uint8Array, checker: JudgedChecker) => boolean;

const isEqual: Compare = (expected, got) => firstDifference(wholeOf(got), wholeOf(expected)) === null;

const isEqualLine: Compare = (expected, got) => firstDifferentLine(new Lines(got), new Lines(expected)) === null;

const haveEqualWords =
  (isNumeric: boolean): Compare =>
  (expected, got, { caseSensitive, absolute, relative }) => {
    const options = { caseSensitive, isNumeric, absolute: absolute ?? 0, relative: relative ?? 0 };
    return firstDifferentWord(new Words(got), new Words(expected), options) === null;
  };

/** The rules of src/domain/check.ts, for one line of each text. */
const COMPARE: Readonly<Record<string, Compare>> = {
  exact: isEqual,
  lines: isEqualLine,
  unordered_lines: isEqualLine,
  tokens: haveEqualWords(false),
  floats: haveEqualWords(true),
  program: isEqualLine,
};

function wholeOf(text: Uint8Array) {
  return { text, start: 0, end: text.length };
}

function linesOf(text: string, type: string): EncodedLine[] {
  const encoder = new TextEncoder();
  const lines = text.split("\n").map((line, at) => ({ number: at + 1, text: line, bytes: encoder.encode(line) }));
  // Only `exact` compares the blank lines at the end.
  if (type !== "exact") while (isBlank(lines.at(-1)?.bytes ?? NOT_BLANK)) lines.pop();
  return lines;
}

/** Ends the removal of blank lines when no line is left. */
const NOT_BLANK = Uint8Array.of(0);

function aligned(
  changes: NonNullable<ReturnType<typeof diffArrays<EncodedLine>>>,
  left: Line[],
  right: Line[],
): AlignedLines[] {
  const rows: AlignedLines[] = [];
  let [inLeft, inRight] = [0, 0];
  for (let at = 0; at < changes.length; at++) {
    const change = changes[at];
    if (!change) continue;
    const isPair = change.removed && changes[at + 1]?.added === true;
    const removed = change.removed ? change.count : 0;
    const added = change.added ? change.count : isPair ? (changes[at + 1]?.count ?? 0) : 0;
    const kind = removed + added > 0 ? "different" : "same";
    const [fromLeft, fromRight] = kind === "same" ? [change.count, change.count] : [removed, added];
    for (let n = 0; n < Math.max(fromLeft, fromRight); n++) {
      const expected = n < fromLeft ? (left[inLeft + n] ?? null) : null;
      const got = n < fromRight ? (right[inRight + n] ?? null) : null;
      rows.push({ kind, expected, got });
    }
    inLeft += fromLeft;
    inRight += fromRight;
    if (isPair) at++;
  }
  return rows;
}

function byNumber(
  left: readonly EncodedLine[],
  right: readonly EncodedLine[],
  isSame: (a: EncodedLine, b: EncodedLine) => boolean,
): AlignedLines[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => {
    const [expected = null, got = null] = [left[at], right[at]];
    return { kind: expected && got && isSame(expected, got) ? "same" : "different", expected, got };
  });
}

/** Leaves out equal rows that are far from a difference, and all rows after the first MOST_ROWS. */
function shortened(rows: readonly AlignedLines[]): Pick<Difference, "rows" | "hidden"> {
  const isNear = rows.map(() => false);
  for (const [at, { kind }] of rows.entries())
    if (kind === "different") isNear.fill(true, Math.max(0, at - AROUND), at + AROUND + 1);
  const shown: (AlignedLines | number)[] = [];
  for (const [at, row] of rows.entries()) {
    const last = shown.at(-1);
    if (shown.length === MOST_ROWS) {
      return { rows: shown, hidden: rows.slice(at).filter(({ kind }) => kind === "different").length };
    }
    if (isNear[at]) shown.push(row);
    else if (typeof last === "number") shown[shown.length - 1] = last + 1;
    else shown.push(1);
  }
  return { rows: shown, hidden: 0 };
}

/** The parts of `text` before, within and after its difference from `other`. */
export function differentParts(text: string, other: string): readonly [string, string, string] {
  const most = Math.min(text.length, other.length);
  let start = 0;
  while (start < most && text[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && text.at(-1 - end) === other.at(-1 - end)) end++;
  return [text.slice(0, start), text.slice(start, text.length - end), text.slice(text.length - end)];
}
