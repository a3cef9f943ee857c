/**
 * Built-in checkers, which compare the output of a program with an answer. The functions are pure. They compare bytes; only `regex`
 * works on decoded text.
 */

import { compareExactly, compareLines, compareSortedLines, compareWords } from "./comparisons.ts";

export const CHECKER_TYPES = ["exact", "lines", "tokens", "floats", "unordered_lines", "regex"] as const;
export type CheckerType = (typeof CHECKER_TYPES)[number];

export interface Checker {
  readonly type: CheckerType;
  /** Whether, for `tokens` and `floats`, upper and lower case (ASCII) differ; true by default. */
  readonly caseSensitive?: boolean | undefined;
  /**
   * Whether, for `tokens` and `floats`, each line must have the same words as in the answer; false by default. Empty lines never count.
   */
  readonly lineBreaks?: boolean | undefined;
  /** For `floats`: the largest absolute error. A number passes if its absolute or its relative error is small enough. 0 by default. */
  readonly absolute?: number | undefined;
  /** For `floats`: the largest error in relation to the number of the answer. 0 by default. */
  readonly relative?: number | undefined;
}

/** How a checker that is a program is called (src/worker/checker-interfaces.ts): the interfaces that a request can name. */
export const CHECKER_INTERFACES = ["kattis", "testlib"] as const;
/** The interfaces that only packages use. */
const PACKAGE_INTERFACES = ["kattis-partial", "dmoj", "dmoj-testlib", "dmoj-coci", "dmoj-peg", "cms"] as const;

/** Paths that a checker's own files must not have, because its box has the files of the test there. */
export const CHECKER_RESERVED = /^(judge|feedback)(\/|$)/;

/**
 * The most bytes of an input together with its answer if the checker is a program. Its box must also hold the output and the files of
 * the checker.
 */
export const MAX_CHECKED_BYTES = 25_165_824;

/** The most passes that a multi-pass problem may permit for one test. Few problems of contests have more than 30. */
export const MAX_PASSES = 100;

/** A checker that is itself a program; its source is stored with the tests. */
export interface ProgramChecker {
  readonly type: "program";
  readonly interface: (typeof CHECKER_INTERFACES | typeof PACKAGE_INTERFACES)[number];
  readonly language: string;
  /** Arguments after those of the interface. */
  readonly args: readonly string[];
  /** Set if `args` are all arguments, in place of those of the interface. */
  readonly hasOwnArgs?: true;
  /** Set if its box also has the source of the submission, and what was measured of its run, in files (src/worker/checker-interfaces.ts). */
  readonly readsRun?: true;
  /**
   * Set if it also decides about runs that have failed, except for those that do not compile or whose output exceeds its limit. An interactor
   * can always do that (`UNDECIDED`).
   */
  readonly checksFailures?: true;
  /** Set if users do not see what it writes, unless it has failed. */
  readonly isSilent?: true;
  /** Set for an interactor: it runs at the same time as the program, and each of the two reads the output of the other. */
  readonly interactive?: true;
  /** The most passes. After each pass, the checker decides whether another one follows. 1 by default. */
  readonly passes?: number;
  /**
   * Set by a package: the part of the points of a test for an output that the checker accepts without giving points. 1 by default; null: such
   * a checker has failed.
   */
  readonly acceptedShare?: number | null;
}

export type CheckerSpec = Checker | ProgramChecker;

/** The result of a checker. */
export interface Checked {
  /** IE: the checker failed. UNDECIDED: the run has failed, and its own verdict holds. */
  readonly verdict: "AC" | "WA" | "IE" | typeof UNDECIDED;
  /**
   * The part of the points of the test that the program has earned, from 0 to 1. With some interfaces, a wrong output and a failed run can
   * earn points.
   */
  readonly share: number;
  /** A message for users; null if there is nothing to explain. */
  readonly message: string | null;
}

/**
 * A checker leaves the verdict to the run, which has failed. An interactor leaves the decision to a second run of itself after the end of
 * the program, which has what was measured, and the files that the first one has left.
 */
export const UNDECIDED = "undecided";

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
 * @param answers an output passes if it agrees with any of them.
 * @throws SyntaxError if the checker is `regex` and an answer is no regular expression. To parse and run an expression can take any
 * time, so the caller must do it in a process that can be killed.
 */
export function comparison(checker: Checker, answers: readonly Buffer[]): Comparison {
  const { type } = checker;
  if (type === "regex") return expressions(answers);
  return { run: (output) => firstThatPasses(answers, COMPARE[type](output, checker)) };
}

/** Prepares a comparison and runs it. @throws SyntaxError as `comparison` does. */
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

/** Prepares an output. @returns a function that finds the first difference between an answer and the output; null if there is none. */
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
  /** Like `lines`, but the lines can be in any order. */
  unordered_lines: (output) => compareSortedLines(output),
};

/** The whole output, without white space at its end, must match the answer: a regular expression of JavaScript with the flags s and u. */
function expressions(answers: readonly Buffer[]): Comparison {
  const all = answers.map((answer) => {
    const text = answer.toString("utf8").trimEnd();
    new RegExp(text, "su"); // parsed without the parentheses too: "a)|(?:b" is no expression, but would be one between them
    return new RegExp(`^(?:${text})$`, "su");
  });
  // V8 compiles an expression when it first runs, for each width of characters, and again when it runs for the second time. This is done
  // here, so that it counts as parsing.
  for (const one of all) for (const text of ["", "", "\u{1F600}", "\u{1F600}"]) one.test(text);
  return {
    run: (output) => {
      const text = output.toString("utf8").trimEnd();
      return firstThatPasses(all, (one) => (matches(one, text) ? null : "the output does not match the expression"));
    },
  };
}

/** Whether the text matches. It does not if V8 has too little memory to run the expression on it. */
function matches(expression: RegExp, text: string): boolean {
  try {
    return expression.test(text);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
