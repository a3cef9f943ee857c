/**
 * Excerpts of texts for messages to users. A program can write any bytes, so each excerpt is made to begin and end between characters.
 */

import type { TextPart } from "./text-parts.ts";

type TextRange = TextPart<Buffer>;

/** The most bytes of a text that a message repeats. */
const MAX_EXCERPT_BYTES = 60;
/** How many of these bytes come before the first difference. */
const BYTES_BEFORE = 20;

/** @param from where the excerpt begins. The bytes before it, and what follows a long excerpt, are replaced by "…". */
export function excerptOf({ text, start, end }: TextRange, from = start): string {
  const first = characterAt(text, from, start);
  const after = end - first > MAX_EXCERPT_BYTES ? characterAt(text, first + MAX_EXCERPT_BYTES, start) : end;
  const shown = text.toString("utf8", first, after);
  return JSON.stringify(`${first > start ? "…" : ""}${shown}${after < end ? "…" : ""}`);
}

/** The start of the character that a byte belongs to. A byte that is not UTF-8 counts as a character. */
function characterAt(text: Buffer, at: number, least: number): number {
  let first = at;
  while (first > least && at - first < 3 && isContinuation(text[first])) first--;
  return isContinuation(text[first]) ? at : first;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Shows where two texts differ. @param difference the first byte that differs, counted from the start of each text. */
export function excerptsOf(expected: TextRange, got: TextRange, difference: number): string {
  const isLong = [expected, got].some(({ start, end }) => end - start > MAX_EXCERPT_BYTES);
  const from = isLong ? Math.max(0, difference - BYTES_BEFORE) : 0;
  const both = `expected ${excerptOf(expected, expected.start + from)}, got ${excerptOf(got, got.start + from)}`;
  return isLong ? `${both}, from byte ${difference + 1} on` : both;
}
