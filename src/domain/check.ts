/** Built-in checkers, which compare the output of a program with an answer. Pure; texts are bytes as Latin-1, but for `regex`. */

export const CHECKER_TYPES = ["exact", "lines", "tokens", "floats", "unordered_lines", "regex"] as const;
export type CheckerType = (typeof CHECKER_TYPES)[number];

export interface Checker {
  readonly type: CheckerType;
  /** For `tokens` and `floats`: whether upper and lower case (ASCII) differ; true by default. */
  readonly caseSensitive?: boolean | undefined;
  /** For `tokens` and `floats`: whether lines must have the same words; false by default. Empty lines make no difference. */
  readonly lineBreaks?: boolean | undefined;
  /** For `floats`: a number passes if its absolute or its relative error is at most this. */
  readonly absolute?: number | undefined;
  readonly relative?: number | undefined;
}

/** How a checker's program is called (src/worker/checker.ts). */
export const CHECKER_INTERFACES = ["kattis", "testlib"] as const;

/** Paths of a checker's box that are not for its own files. */
export const CHECKER_RESERVED = /^(judge|feedback)(\/|$)/;

/** Runs of a program on one test. */
export const MAX_PASSES = 20;

/** A checker that is itself a program; its source is stored with the tests. */
export interface ProgramChecker {
  readonly type: "program";
  readonly interface: (typeof CHECKER_INTERFACES)[number];
  readonly language: string;
  /** Arguments after those of the interface. */
  readonly args: readonly string[];
  /** An interactor: it runs at the same time as the program, and each reads the output of the other. */
  readonly interactive?: true;
  /** The most runs of the program; the checker decides after each whether another one follows. 1 by default. */
  readonly passes?: number;
}

export type CheckerSpec = Checker | ProgramChecker;

/** The result of a checker. */
export interface Checked {
  /** IE: the checker failed. */
  readonly verdict: "AC" | "WA" | "IE";
  /** The earned part of the points of the test, 0 to 1. */
  readonly share: number;
  /** For users; null for nothing to say. */
  readonly message: string | null;
}

/** The result of a comparison. */
export interface Compared {
  readonly passed: boolean;
  /** The first difference, for users; null if it passed. */
  readonly message: string | null;
}

const PASSED: Compared = { passed: true, message: null };

/** Characters of output or answer that a message repeats. */
const MAX_SHOWN = 60;

/**
 * @param answers any of them passes.
 * @throws SyntaxError for an answer that is no regular expression. To parse and to run an expression can take any time: use a thread.
 */
export function check(checker: Checker, output: Buffer, answers: readonly Buffer[]): Compared {
  const encoding = checker.type === "regex" ? "utf8" : "latin1";
  const text = output.toString(encoding);
  let first: Compared | undefined;
  for (const answer of answers) {
    const checked = CHECKS[checker.type](text, answer.toString(encoding), checker);
    if (checked.passed) return PASSED;
    first ??= checked;
  }
  return first ?? failed("there is no answer");
}

type Check = (output: string, answer: string, checker: Checker) => Compared;

const CHECKS: { readonly [T in CheckerType]: Check } = {
  /** Byte for byte. */
  exact: (output, answer) => {
    if (output === answer) return PASSED;
    const at = firstDifference(output, answer);
    const line = output.slice(0, at).split("\n").length;
    return failed(`byte ${at + 1}, in line ${line}, differs`);
  },
  /** Line by line, without white space at the end of lines and without empty lines at the end. */
  lines: (output, answer) => compareLists("line", linesOf(output), linesOf(answer)),
  /** Word by word, with any white space between them. */
  tokens: (output, answer, checker) => compareLists("token", tokensOf(output, checker), tokensOf(answer, checker)),
  /** Like `tokens`, but a token of the answer that is a number accepts numbers that are close to it. */
  floats: (output, answer, checker) => {
    const same = (a: string, b: string) => a === b || isClose(a, b, checker);
    return compareLists("token", tokensOf(output, checker), tokensOf(answer, checker), same);
  },
  /** Like `lines`, in any order. */
  unordered_lines: (output, answer) => compareLists("sorted line", linesOf(output).sort(), linesOf(answer).sort()),
  /** All of the output, without white space at its end, matches the answer: a regular expression of JavaScript (flags s, u). */
  regex: (output, answer) =>
    new RegExp(`^(?:${answer.trimEnd()})$`, "su").test(output.trimEnd())
      ? PASSED
      : failed("the output does not match the expression"),
};

function failed(message: string): Compared {
  return { passed: false, message };
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map(withoutEnd);
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A regular expression would take quadratic time for white space in the middle of a line. */
function withoutEnd(line: string): string {
  let end = line.length;
  while (end > 0 && " \t\r\f\v".includes(line[end - 1] as string)) end--;
  return line.slice(0, end);
}

/** With a line feed between lines, if these count. */
function tokensOf(original: string, { caseSensitive, lineBreaks }: Checker): string[] {
  const text = caseSensitive === false ? original.toLowerCase() : original;
  if (lineBreaks !== true) return wordsOf(text);
  const lines = text
    .split(/[\r\n]+/)
    .map(wordsOf)
    .filter(({ length }) => length > 0);
  return lines.flatMap((words, at) => (at === 0 ? words : ["\n", ...words]));
}

function wordsOf(text: string): string[] {
  return text.split(/[ \t\r\n\f\v]+/).filter((word) => word !== "");
}

function compareLists(
  what: string,
  output: readonly string[],
  answer: readonly string[],
  same: (output: string, answer: string) => boolean = (a, b) => a === b,
): Compared {
  for (const [at, expected] of answer.entries()) {
    const got = output[at];
    if (got === undefined) return failed(`the output ends before ${what} ${at + 1}, expected ${show(expected)}`);
    if (!same(got, expected)) return failed(`${what} ${at + 1}: expected ${show(expected)}, got ${show(got)}`);
  }
  if (output.length === answer.length) return PASSED;
  return failed(
    `the output continues after the answer with ${what} ${answer.length + 1}: ${show(output[answer.length] ?? "")}`,
  );
}

function show(latin1: string): string {
  const text = Buffer.from(latin1, "latin1").toString("utf8");
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** No part can match the same digits in two ways, so that its time is linear. */
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function isClose(output: string, answer: string, { absolute = 0, relative = 0 }: Checker): boolean {
  if (!NUMBER.test(output) || !NUMBER.test(answer)) return false;
  const [got, expected] = [Number(output), Number(answer)];
  const error = Math.abs(got - expected);
  return error <= absolute || error <= relative * Math.abs(expected);
}
