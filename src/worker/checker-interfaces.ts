import type { Checked, ProgramChecker } from "../domain/check.ts";

/** The files of a checker's box besides its own. The feedback directory exists when it starts. */
export const FILES = { input: "judge/input", answer: "judge/answer", output: "judge/output" } as const;
export const FEEDBACK = "feedback";

/** How a checker ended by itself, within its limits. */
export interface Ended {
  readonly code: number;
  /** The first text of its streams, for users. */
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of standard error that were kept, if it wrote more; null otherwise. */
  readonly stderrCutAt: number | null;
  /** Whether a line of standard error matches, for an expression with the flag `m`. */
  readonly hasLine: (line: RegExp) => boolean;
  /** The text of a file of the feedback directory. */
  readonly feedback: (name: string) => string | null;
  /** Why the feedback directory could not be read; null if it could. */
  readonly unread: string | null;
}

export interface Interface {
  readonly args: readonly string[];
  readonly readsOutput: "stdin" | "file";
  /**
   * @param points the most that the checker can give; null if it can only accept or reject.
   * @returns null for an end that the interface does not have, such as a crash.
   */
  readonly result: (ended: Ended, points: number | null) => Checked | null;
}

/**
 * How checkers are called, and what their ends mean. Runtimes end with 1, 2, 101, 126, 127, 134 or 255 after an uncaught error,
 * so an exit code alone gives no points: either no runtime has it (42 and 43 of `kattis`), or a text that only a deliberate
 * decision writes must agree with it (`testlib`). With `dmoj`, which has no such text, a crash can reject but gives no part of
 * the points.
 */
export const INTERFACES: Readonly<Record<ProgramChecker["interface"], Interface>> = {
  /** The output validator of problem packages. */
  kattis: {
    args: [FILES.input, FILES.answer, `${FEEDBACK}/`],
    readsOutput: "stdin",
    result: ({ code, feedback, unread }, points) => {
      const message = feedback("judgemessage.txt") || null;
      if (code === 43) return rejected(message);
      if (code !== 42) return null;
      // A directory that could not be read may have a score.
      if (unread !== null) return failed(unread);
      const [share = null, score = null] = [feedback("score_multiplier.txt"), feedback("score.txt")].map(toNumber);
      if (share === null && score === null) return accepted(message);
      if (points === null) return failed(NO_POINTS);
      if (share !== null && score !== null) return failed("the checker has both score.txt and score_multiplier.txt");
      const most = share === null ? points : 1;
      return (
        toShare(share ?? fractionOf(score ?? 0, points), message) ??
        failed(`the checker has exit code 42, but its score is not 0 to ${most}`)
      );
    },
  },
  /** Checkers with the public testlib.h, and others that write the same texts. */
  testlib: {
    /** An interactor writes its log to the second one. */
    args: [FILES.input, FILES.output, FILES.answer],
    readsOutput: "file",
    result: testlibResult,
  },
  /** The type `default` of DMOJ's checker `bridged`. */
  dmoj: {
    args: [FILES.input, FILES.output, FILES.answer],
    readsOutput: "file",
    result: ({ code, stdout, stderr }) => {
      const message = stdout || stderr || null;
      if (code === 0) return accepted(message);
      return code === 1 ? rejected(message) : null;
    },
  },
};

/** What testlib writes to standard error, at the start of a line, before it exits with one of the codes. */
const TESTLIB_VERDICTS: readonly (readonly [codes: readonly number[], text: RegExp, accepts: boolean])[] = [
  [[0], /^ok(?!\w)/m, true],
  [[1], /^wrong answer(?!\w)/m, false],
  // 4 is "extra information in the output" of older versions, with the same text.
  [[2, 4], /^wrong output format(?!\w)/m, false],
  [[8], /^unexpected eof(?!\w)/m, false],
];
const POINTS_CODE = 7;
/** `_pc(200)` is all points. */
const MOST_PARTS = 200;
/** `_pc(n)` exits with n, or with 50 + n if the checker is compiled with TESTSYS. */
const PARTIAL_BASES = [0, 50];

function testlibResult({ code, stderr, stderrCutAt, hasLine }: Ended, points: number | null): Checked | null {
  const message = stderr || null;
  // The text counts only at the start, because a checker may repeat output of the program after it.
  const partial = /^partially correct \((\d{1,3})\)/.exec(stderr)?.[1];
  const score = /^points\s+(\S+)/.exec(stderr)?.[1];
  if (partial !== undefined && PARTIAL_BASES.some((base) => code === base + Number(partial))) {
    if (points === null) return failed(NO_POINTS);
    return earned(shareOf(Number(partial), points), message) ?? failed(`the part is not 0 to ${MOST_PARTS}: ${stderr}`);
  }
  if (code === POINTS_CODE && score !== undefined) {
    if (points === null) return failed(NO_POINTS);
    if (score.startsWith("points_info="))
      return failed(`the checker gives points_info to a scorer, and there are no scorers: ${stderr}`);
    const given = toNumber(score) ?? Number.NaN;
    return earned(fractionOf(given, points), message) ?? failed(`the points are not 0 to ${points}: ${stderr}`);
  }
  const verdict = TESTLIB_VERDICTS.find(([codes, text]) => codes.includes(code) && hasLine(text));
  if (verdict) return verdict[2] ? accepted(message) : rejected(message);
  const ofCode = TESTLIB_VERDICTS.find(([codes]) => codes.includes(code));
  if (stderrCutAt === null || !ofCode) return null;
  // The text can be in the part that was cut off. A program must not be able to cause that by its output: it would turn WA into IE.
  return ofCode[2]
    ? failed(`the checker wrote more than ${stderrCutAt} bytes to standard error, where its result is missing`)
    : rejected(message);
}

const NO_POINTS = "the checker gives points, but the test can only be accepted or rejected";

/** A test without points, such as a sample, has nothing to share. */
function fractionOf(score: number, points: number): number {
  return points === 0 && score >= 0 ? 1 : score / points;
}

/** The share for a part of `_pc`. */
function shareOf(parts: number, points: number): number {
  return points === 0 && parts <= MOST_PARTS ? 1 : parts / MOST_PARTS;
}

/** Without any points, the program has not passed. */
function earned(share: number, message: string | null): Checked | null {
  return share === 0 ? rejected(message) : toShare(share, message);
}

/** Points have six decimals, so the share that a checker gives of a rounded maximum can be slightly more than 1. */
function toShare(share: number, message: string | null): Checked | null {
  return share >= 0 && share <= 1 + 1e-6 ? { verdict: "AC", share: Math.min(1, share), message } : null;
}

function toNumber(text: string | null): number | null {
  if (text === null) return null;
  return /^\s*(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?\s*$/i.test(text) ? Number(text) : Number.NaN;
}

function accepted(message: string | null): Checked {
  return { verdict: "AC", share: 1, message };
}

function rejected(message: string | null): Checked {
  return { verdict: "WA", share: 0, message };
}

export function failed(message: string): Checked {
  return { verdict: "IE", share: 0, message };
}
