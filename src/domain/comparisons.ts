import { isClose } from "./decimal.ts";
import { type Part, show, showBoth } from "./shown.ts";

/**
 * Comparisons of an output with an answer. Each returns the first difference, for users, or null. They read bytes where these are
 * and take time in proportion to them, for any bytes. They make no list of words or lines: a megabyte can have half
 * a million.
 */

const LINE_FEED = 0x0a;

function tableOf(characters: string): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(characters.includes(String.fromCharCode(byte))));
}

const WHITE = tableOf(" \t\r\n\f\v");
const LINE_BREAK = tableOf("\r\n");
/** Of bytes without a difference between upper and lower case. Other letters than those of ASCII are several bytes. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));

export function compareExactly(output: Buffer, answer: Buffer): string | null {
  if (output.equals(answer)) return null;
  const most = Math.min(output.length, answer.length);
  let [at, line] = [0, 1];
  for (; at < most && output[at] === answer[at]; at++) if (output[at] === LINE_FEED) line++;
  return `byte ${at + 1}, in line ${line}, differs`;
}

/** Reads the lines of a text, without white space at their ends and without empty lines at the end. */
class Lines implements Part {
  readonly text: Buffer;
  start = 0;
  end = 0;
  readonly #size: number;
  #next = 0;

  constructor(text: Buffer) {
    this.text = text;
    this.#size = endOf(text, 0, text.length);
  }

  /** @returns false after the last line. */
  read(): boolean {
    if (this.#next >= this.#size) return false;
    const found = this.text.indexOf(LINE_FEED, this.#next);
    const end = found < 0 ? this.text.length : found;
    this.start = this.#next;
    this.end = endOf(this.text, this.start, end);
    this.#next = end + 1;
    return true;
  }
}

/** The end of a part of a text without the white space there. */
function endOf(text: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && WHITE[text[at - 1] as number] === 1) at--;
  return at;
}

export function compareLines(output: Buffer, answer: Buffer): string | null {
  const [got, expected] = [new Lines(output), new Lines(answer)];
  for (let number = 1; ; number++) {
    const [hasGot, hasExpected] = [got.read(), expected.read()];
    if (!hasGot || !hasExpected) return atTheEnd(`line ${number}`, hasGot ? got : null, hasExpected ? expected : null);
    const difference = firstDifference(got, expected);
    if (difference !== null) return `line ${number}: ${showBoth(expected, got, difference)}`;
  }
}

/** From this size, a call of Node's own comparison pays. */
const LONG = 128;

/** @returns the first byte that differs, counted from the start of both; null if they are equal. */
function firstDifference(a: Part, b: Part, folded?: Uint8Array): number | null {
  const [sizeA, sizeB] = [a.end - a.start, b.end - b.start];
  if (sizeA === sizeB && sizeA >= LONG && a.text.compare(b.text, b.start, b.end, a.start, a.end) === 0) return null;
  const most = Math.min(sizeA, sizeB);
  for (let at = 0; at < most; at++) {
    const [x, y] = [a.text[a.start + at] as number, b.text[b.start + at] as number];
    if (x !== y && (!folded || folded[x] !== folded[y])) return at;
  }
  return sizeA === sizeB ? null : most;
}

/** After all parts of one text were equal. */
function atTheEnd(what: string, got: Part | null, expected: Part | null): string | null {
  if (expected) return `the output ends before ${what}, expected ${show(expected)}`;
  return got && `the output continues after the answer with ${what}: ${show(got)}`;
}

/**
 * For lines in any order. Those of the output are counted once for all answers. They are not sorted, which would take several times
 * as long.
 */
export function compareSortedLines(output: Buffer): (answer: Buffer) => string | null {
  const idOf = new Map<string, number>();
  const counts: number[] = [];
  const got = new Lines(output);
  while (got.read()) {
    const line = textOf(got);
    const id = idOf.get(line) ?? counts.length;
    if (id === counts.length) idOf.set(line, id);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return (answer) => {
    const left = Int32Array.from(counts);
    const expected = new Lines(answer);
    for (let number = 1; expected.read(); number++) {
      const id = idOf.get(textOf(expected));
      if (id === undefined) return `the output has no line ${show(expected)}, which is line ${number} of the answer`;
      const rest = (left[id] as number) - 1;
      if (rest < 0) return `the output has the line ${show(expected)} ${counts[id]} times, fewer than the answer`;
      left[id] = rest;
    }
    const more = left.findIndex((count) => count > 0);
    if (more < 0) return null;
    const lines = new Lines(output);
    for (let number = 1; lines.read(); number++)
      if (idOf.get(textOf(lines)) === more)
        return left[more] === counts[more]
          ? `the answer has no line ${show(lines)}, which is line ${number} of the output`
          : `the output has the line ${show(lines)} ${counts[more]} times, more than the answer`;
    return null;
  };
}

function textOf({ text, start, end }: Part): string {
  return text.toString("latin1", start, end);
}

/** Reads the words of a text. */
class Words implements Part {
  readonly text: Buffer;
  start = 0;
  end = 0;
  /** Whether the word is the first one of its line; but not if it is the first one of all. */
  isFirst = false;
  #any = false;

  constructor(text: Buffer) {
    this.text = text;
  }

  /** @returns false after the last word. */
  read(): boolean {
    const { text } = this;
    let [at, isFirst] = [this.end, false];
    for (; at < text.length && WHITE[text[at] as number] === 1; at++)
      if (LINE_BREAK[text[at] as number] === 1) isFirst = this.#any;
    this.start = at;
    while (at < text.length && WHITE[text[at] as number] === 0) at++;
    this.end = at;
    this.isFirst = isFirst;
    this.#any = true;
    return at > this.start;
  }
}

export interface WordOptions {
  readonly caseSensitive?: boolean | undefined;
  readonly lineBreaks?: boolean | undefined;
  readonly isNumeric: boolean;
  readonly absolute?: number | undefined;
  readonly relative?: number | undefined;
}

export function compareWords(output: Buffer, answer: Buffer, options: WordOptions): string | null {
  const { caseSensitive = true, lineBreaks = false, isNumeric } = options;
  const [got, expected] = [new Words(output), new Words(answer)];
  for (let number = 1; ; number++) {
    const what = `token ${number}`;
    const [hasGot, hasExpected] = [got.read(), expected.read()];
    if (!hasGot || !hasExpected) return atTheEnd(what, hasGot ? got : null, hasExpected ? expected : null);
    if (lineBreaks && got.isFirst !== expected.isFirst)
      return `${what}: expected ${show(expected)} in ${lineOf(expected)}, got ${show(got)} in ${lineOf(got)}`;
    const difference = firstDifference(got, expected, caseSensitive ? undefined : FOLDED);
    if (difference === null || (isNumeric && isNear(got, expected, options))) continue;
    return `${what}: ${showBoth(expected, got, difference)}`;
  }
}

function lineOf({ isFirst }: Words): string {
  return isFirst ? "a new line" : "the line of the token before";
}

function isNear(got: Part, expected: Part, { absolute, relative }: WordOptions): boolean {
  return isClose(textOf(got), textOf(expected), absolute ?? 0, relative ?? 0);
}
