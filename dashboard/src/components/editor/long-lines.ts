/**
 * The greatest number of characters in a shown line. Browsers take seconds to show a line of a megabyte, and minutes if it has
 * control characters.
 */
export const MAX_LINE = 1_000;

/** A text whose long lines are continued on further lines. The functions below convert between it and the original text. */
export interface Continued {
  readonly text: string;
  /** Positions in `text` of the line feeds that were added. */
  readonly added: readonly number[];
  /** The numbers, from 1, of the lines in `text` that continue the line before. */
  readonly continuing: readonly number[];
}

export function continueLines(text: string, most: number = MAX_LINE): Continued {
  const parts: string[] = [];
  const added: number[] = [];
  const continuing: number[] = [];
  let [from, start, line] = [0, 0, 1];
  for (;;) {
    const end = text.indexOf("\n", start);
    const until = end === -1 ? text.length : end;
    for (; until - start > most; line++) {
      // A character that is a surrogate pair stays whole.
      start += isHighSurrogate(text.charCodeAt(start + most - 1)) ? most - 1 : most;
      added.push(start + added.length);
      continuing.push(line + 1);
      parts.push(text.slice(from, start));
      from = start;
    }
    if (end === -1) break;
    start = end + 1;
    line++;
  }
  if (added.length === 0) return { text, added, continuing };
  parts.push(text.slice(from));
  return { text: parts.join("\n"), added, continuing };
}

/** Converts a position in the original text to one in the shown text. */
export function shownPosition({ added }: Continued, position: number): number {
  // Before the addition with the index i, there are i others.
  return position + firstIndex(added.length, (i) => (added[i] ?? 0) - i > position);
}

/** Converts the number of an original line to that of the shown line where it begins. */
export function shownLine({ continuing }: Continued, line: number): number {
  return line + firstIndex(continuing.length, (i) => (continuing[i] ?? 0) - i > line);
}

/** Converts the number of a shown line to that of the original line; null for a continuation. */
export function lineNumber({ continuing }: Continued, shown: number): number | null {
  const before = firstIndex(continuing.length, (i) => (continuing[i] ?? 0) > shown);
  return continuing[before - 1] === shown ? null : shown - before;
}

/** The original text between two positions in the shown text. */
export function originalText({ text, added }: Continued, from: number, to: number): string {
  const [first, last] = [
    firstIndex(added.length, (i) => (added[i] ?? 0) >= from),
    firstIndex(added.length, (i) => (added[i] ?? 0) >= to),
  ];
  const ends = [...added.slice(first, last), to];
  return ends.map((end, i) => text.slice(i === 0 ? from : (ends[i - 1] ?? 0) + 1, end)).join("");
}

/**
 * The first index for which `holds` is true, or `length` if there is none. `holds` must be true for all indexes after the first
 * one.
 */
function firstIndex(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
