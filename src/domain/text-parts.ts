/**
 * Lines and words of a text as checkers read and compare them. The dashboard uses this file to mark the lines that differ, so it also
 * works in browsers, which have no Buffers. The readers copy no bytes, and take time in proportion to the text. They make no list of
 * words or lines, because a megabyte can have half a million of them.
 */

import { isClose } from "./decimal.ts";

const LINE_FEED = 0x0a;

function tableOf(characters: string): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(characters.includes(String.fromCharCode(byte))));
}

const WHITE = tableOf(" \t\r\n\f\v");
const LINE_BREAK = tableOf("\r\n");
/** Maps ASCII letters to lower case. Other letters consist of several bytes, and keep their case. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));

/** The bytes of a text from `start` on, up to but without `end`. */
export interface TextPart<T extends Uint8Array = Uint8Array> {
  readonly text: T;
  readonly start: number;
  readonly end: number;
}

/** Reads the lines of a text, without white space at their ends and without empty lines at the end. */
export class Lines<T extends Uint8Array> implements TextPart<T> {
  readonly text: T;
  start = 0;
  end = 0;
  readonly #size: number;
  #next = 0;

  constructor(text: T) {
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

/** Where a part of a text ends without its trailing white space. */
function endOf(text: Uint8Array, start: number, end: number): number {
  let at = end;
  while (at > start && WHITE[text[at - 1] as number] === 1) at--;
  return at;
}

/** Whether a text has only white space. */
export function isBlank(text: Uint8Array): boolean {
  return endOf(text, 0, text.length) === 0;
}

/** Reads the words of a text. */
export class Words<T extends Uint8Array> implements TextPart<T> {
  readonly text: T;
  start = 0;
  end = 0;
  /** Whether a line break precedes the word. Always false for the first word of the text. */
  isFirst = false;
  #any = false;

  constructor(text: T) {
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

/** From this size on, the comparison of Node's Buffer is faster than a loop. */
const LONG = 128;

function isBuffer(text: Uint8Array): text is Buffer {
  return "compare" in text;
}

/** @returns the first byte that differs, counted from the start of each part; null if the parts are equal. */
export function firstDifference(a: TextPart, b: TextPart, caseSensitive = true): number | null {
  const [sizeA, sizeB] = [a.end - a.start, b.end - b.start];
  if (sizeA === sizeB && sizeA >= LONG && isBuffer(a.text) && isBuffer(b.text))
    if (a.text.compare(b.text, b.start, b.end, a.start, a.end) === 0) return null;
  const most = Math.min(sizeA, sizeB);
  for (let at = 0; at < most; at++) {
    const [x, y] = [a.text[a.start + at] as number, b.text[b.start + at] as number];
    if (x !== y && (caseSensitive || FOLDED[x] !== FOLDED[y])) return at;
  }
  return sizeA === sizeB ? null : most;
}

/** Where two texts begin to differ. */
export interface FirstDifference {
  /** The number of the line or word, from 1. */
  readonly number: number;
  /** Whether each text has such a line or word. */
  readonly hasGot: boolean;
  readonly hasExpected: boolean;
  /** The first byte that differs within the line or word; null if only one text has this line or word, or if only line breaks differ. */
  readonly at: number | null;
}

/** Reads both texts up to the first line that differs. @returns null if none does. */
export function firstDifferentLine(got: Lines<Uint8Array>, expected: Lines<Uint8Array>): FirstDifference | null {
  for (let number = 1; ; number++) {
    const [hasGot, hasExpected] = [got.read(), expected.read()];
    if (!hasGot && !hasExpected) return null;
    if (!hasGot || !hasExpected) return { number, hasGot, hasExpected, at: null };
    const at = firstDifference(got, expected);
    if (at !== null) return { number, hasGot, hasExpected, at };
  }
}

export interface WordOptions {
  /** Whether upper and lower case (ASCII) differ; true by default. */
  readonly caseSensitive?: boolean | undefined;
  /** Whether each line must have the same words in both texts; false by default. */
  readonly lineBreaks?: boolean | undefined;
  /** Whether numbers may differ by the two tolerances that follow, which are 0 by default. */
  readonly isNumeric: boolean;
  readonly absolute?: number | undefined;
  readonly relative?: number | undefined;
}

/** Reads both texts up to the first word that differs. @returns null if none does. */
export function firstDifferentWord(
  got: Words<Uint8Array>,
  expected: Words<Uint8Array>,
  options: WordOptions,
): FirstDifference | null {
  const { caseSensitive = true, lineBreaks = false, isNumeric } = options;
  for (let number = 1; ; number++) {
    const [hasGot, hasExpected] = [got.read(), expected.read()];
    if (!hasGot && !hasExpected) return null;
    if (!hasGot || !hasExpected) return { number, hasGot, hasExpected, at: null };
    if (lineBreaks && got.isFirst !== expected.isFirst) return { number, hasGot, hasExpected, at: null };
    const at = firstDifference(got, expected, caseSensitive);
    if (at === null || (isNumeric && isNear(got, expected, options))) continue;
    return { number, hasGot, hasExpected, at };
  }
}

function isNear(got: TextPart, expected: TextPart, { absolute, relative }: WordOptions): boolean {
  return isClose(latin1(got), latin1(expected), absolute ?? 0, relative ?? 0);
}

/** Decodes each byte as one character. */
function latin1({ text, start, end }: TextPart): string {
  if (isBuffer(text)) return text.toString("latin1", start, end);
  let characters = "";
  for (let at = start; at < end; at++) characters += String.fromCharCode(text[at] as number);
  return characters;
}
