import { excerptOf, excerptsOf } from "./text-excerpt.ts";
import { firstDifferentLine, firstDifferentWord, Lines, type TextPart, type WordOptions, Words } from "./text-parts.ts";

/** Comparisons of an output with an answer. Each returns the first difference as a text for users, or null if there is none. */

const LINE_FEED = 0x0a;

export function compareExactly(output: Buffer, answer: Buffer): string | null {
  if (output.equals(answer)) return null;
  const most = Math.min(output.length, answer.length);
  let [at, line] = [0, 1];
  for (; at < most && output[at] === answer[at]; at++) if (output[at] === LINE_FEED) line++;
  return `byte ${at + 1}, in line ${line}, differs`;
}

export function compareLines(output: Buffer, answer: Buffer): string | null {
  const [got, expected] = [new Lines(output), new Lines(answer)];
  const difference = firstDifferentLine(got, expected);
  if (difference === null) return null;
  const { number, hasGot, hasExpected, at } = difference;
  if (at === null) return atTheEnd(`line ${number}`, hasGot ? got : null, hasExpected ? expected : null);
  return `line ${number}: ${excerptsOf(expected, got, at)}`;
}

/** The message if one text ends before the other, and is equal to the other up to there. @param what the first part that only one text has. */
function atTheEnd(what: string, got: TextPart<Buffer> | null, expected: TextPart<Buffer> | null): string | null {
  if (expected) return `the output ends before ${what}, expected ${excerptOf(expected)}`;
  return got && `the output continues after the answer with ${what}: ${excerptOf(got)}`;
}

/**
 * Compares lines in any order. The lines of the output are counted once for all answers. They are not sorted, which would take
 * several times as long.
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
      if (id === undefined)
        return `the output has no line ${excerptOf(expected)}, which is line ${number} of the answer`;
      const rest = (left[id] as number) - 1;
      if (rest < 0) return `the output has the line ${excerptOf(expected)} ${counts[id]} times, fewer than the answer`;
      left[id] = rest;
    }
    const more = left.findIndex((count) => count > 0);
    if (more < 0) return null;
    const lines = new Lines(output);
    for (let number = 1; lines.read(); number++)
      if (idOf.get(textOf(lines)) === more)
        return left[more] === counts[more]
          ? `the answer has no line ${excerptOf(lines)}, which is line ${number} of the output`
          : `the output has the line ${excerptOf(lines)} ${counts[more]} times, more than the answer`;
    return null;
  };
}

function textOf({ text, start, end }: TextPart<Buffer>): string {
  return text.toString("latin1", start, end);
}

export function compareWords(output: Buffer, answer: Buffer, options: WordOptions): string | null {
  const [got, expected] = [new Words(output), new Words(answer)];
  const difference = firstDifferentWord(got, expected, options);
  if (difference === null) return null;
  const { number, hasGot, hasExpected, at } = difference;
  const what = `token ${number}`;
  if (at !== null) return `${what}: ${excerptsOf(expected, got, at)}`;
  if (!hasGot || !hasExpected) return atTheEnd(what, hasGot ? got : null, hasExpected ? expected : null);
  return `${what}: expected ${excerptOf(expected)} in ${lineOf(expected)}, got ${excerptOf(got)} in ${lineOf(got)}`;
}

function lineOf({ isFirst }: Words<Buffer>): string {
  return isFirst ? "a new line" : "the line of the token before";
}
