/** Built-in checkers, which compare the output of a program with an answer. The functions are pure. Texts are bytes, except for those of `regex`. */

import { compareExactly, compareLines, compareSortedLines, compareWords } from "./comparisons.ts";

export const CHECKER_TYPES = ["exact", "lines", "tokens", "floats", "unordered_lines", "regex"] as const;
export type CheckerType = (typeof CHECKER_TYPES)[number];

export interface Checker {
  readonly type: CheckerType;
  /** Whether, for `tokens` and `floats`, upper and lower case (ASCII) differ; true by default. */
  readonly caseSensitive?: boolean | undefined;
  /** Whether, for `tokens` and `floats`, lines must have the same words; false by default. Empty lines make no difference. */
  readonly lineBreaks?: boolean | undefined;
  /** The tolerances of `floats`: a number passes if its absolute or its relative error is at most this. */
  readonly absolute?: number | undefined;
  readonly relative?: number | undefined;
}

/** How the program of a checker in a request is called (src/worker/checker-interfaces.ts). */
export const CHECKER_INTERFACES = ["kattis", "testlib"] as const;

/** Paths that a checker's own files must not have, because its box has the files of the test there. */
export const CHECKER_RESERVED = /^(judge|feedback)(\/|$)/;

/** Most bytes of an input with its answer for a checker that is a program: its box has these, the output and its own files. */
export const MAX_CHECKED_BYTES = 6_291_456;

/** Runs of a program on one test. */
export const MAX_PASSES = 20;

/** A checker that is itself a program; its source is stored with the tests. */
export interface ProgramChecker {
  readonly type: "program";
  /** `dmoj` is only in packages of DMOJ. */
  readonly interface: (typeof CHECKER_INTERFACES)[number] | "dmoj";
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
  /** A message for users; null if there is nothing to explain. */
  readonly message: string | null;
}

/** The result of a comparison. */
export interface Compared {
  readonly passed: boolean;
  /** The first difference, for users; null if it passed. */
  readonly message: string | null;
}

const PASSED: Compared = { passed: true, message: null };

/** A comparison that is ready to run: `run` takes time in proportion to the output and the answers, except for a regular expression. */
export interface Comparison {
  readonly run: (output: Buffer) => Compared;
}

/**
 * @param answers any of them passes.
 * @throws SyntaxError for an answer that is no regular expression. Parsing and running an expression can take any time, so the
 * caller needs a process that it can kill.
 */
export function comparison(checker: Checker, answers: readonly Buffer[]): Comparison {
  const { type } = checker;
  if (type === "regex") return expressions(answers);
  return { run: (output) => firstThatPasses(answers, COMPARE[type](output, checker)) };
}

/** @throws SyntaxError as `comparison`. */
export function check(checker: Checker, output: Buffer, answers: readonly Buffer[]): Compared {
  return comparison(checker, answers).run(output);
}

/** Passes if the output passes with any answer. Otherwise, users get the difference from the first answer. */
function firstThatPasses<A>(answers: readonly A[], difference: (answer: A) => string | null): Compared {
  let first: string | undefined;
  for (const answer of answers) {
    const message = difference(answer);
    if (message === null) return PASSED;
    first ??= message;
  }
  return { passed: false, message: first ?? "there is no answer" };
}

/** Returns, for an output, a function that finds the first difference from an answer, or null. */
type Compare = (output: Buffer, checker: Checker) => (answer: Buffer) => string | null;

const COMPARE: { readonly [T in Exclude<CheckerType, "regex">]: Compare } = {
  /** Byte for byte. */
  exact: (output) => (answer) => compareExactly(output, answer),
  /** Line by line, without white space at the end of lines and without empty lines at the end. */
  lines: (output) => (answer) => compareLines(output, answer),
  /** Word by word, with any white space between them. */
  tokens: (output, checker) => (answer) => compareWords(output, answer, { ...checker, isNumeric: false }),
  /** Like `tokens`, but a token of the answer that is a number accepts numbers that are close to it. */
  floats: (output, checker) => (answer) => compareWords(output, answer, { ...checker, isNumeric: true }),
  /** Like `lines`, in any order. */
  unordered_lines: (output) => compareSortedLines(output),
};

/** All of the output, without white space at its end, matches the answer: a regular expression of JavaScript (flags s, u). */
function expressions(answers: readonly Buffer[]): Comparison {
  const all = answers.map((answer) => {
    const text = answer.toString("utf8").trimEnd();
    new RegExp(text, "su"); // also by itself: "a)|(?:b" is no expression, but would be one in the parentheses
    return new RegExp(`^(?:${text})$`, "su");
  });
  // V8 compiles an expression when it runs: for both widths of characters to bytecode, and from the second time on to machine code.
  for (const one of all) for (const text of ["", "", "\u{1F600}", "\u{1F600}"]) one.test(text);
  return {
    run: (output) => {
      const text = output.toString("utf8").trimEnd();
      return firstThatPasses(all, (one) => (matches(one, text) ? null : "the output does not match the expression"));
    },
  };
}

/** An expression that needs more memory for its way through the text than V8 has for it does not match. */
function matches(expression: RegExp, text: string): boolean {
  try {
    return expression.test(text);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
