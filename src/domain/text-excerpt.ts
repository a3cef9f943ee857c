/** Parts of texts in messages for users. The texts are bytes of programs, so each part is made to begin and end between characters. */

import type { TextPart } from "./text-parts.ts";

type TextRange = TextPart<Buffer>;

/** Bytes of a part that a message repeats. */
const MAX_EXCERPT_BYTES = 60;
/** How many of these bytes are before the difference. */
const BYTES_BEFORE = 20;

/** @param from where the excerpt begins. The bytes before it, and the rest of a long part, are omitted. */
export function excerptOf({ text, start, end }: TextRange, from = start): string {
  const first = characterAt(text, from, start);
  const after = end - first > MAX_EXCERPT_BYTES ? characterAt(text, first + MAX_EXCERPT_BYTES, start) : end;
  const shown = text.toString("utf8", first, after);
  return JSON.stringify(`${first > start ? "…" : ""}${shown}${after < end ? "…" : ""}`);
}

/** The start of the character that a byte belongs to. Bytes that are no UTF-8 are characters of their own. */
function characterAt(text: Buffer, at: number, least: number): number {
  let first = at;
  while (first > least && at - first < 3 && isContinuation(text[first])) first--;
  return isContinuation(text[first]) ? at : first;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** @param difference the first byte of both that differs, counted from their start. */
export function excerptsOf(expected: TextRange, got: TextRange, difference: number): string {
  const isLong = [expected, got].some(({ start, end }) => end - start > MAX_EXCERPT_BYTES);
  const from = isLong ? Math.max(0, difference - BYTES_BEFORE) : 0;
  const both = `expected ${excerptOf(expected, expected.start + from)}, got ${excerptOf(got, got.start + from)}`;
  return isLong ? `${both}, from byte ${difference + 1} on` : both;
}
