import { type Checked, type ProgramChecker, UNDECIDED } from "../domain/check.ts";

/** Paths of the files of the test in a checker's box. */
export const FILES = {
  input: "judge/input",
  answer: "judge/answer",
  output: "judge/output",
  /** The source of the submission, and what was measured of its run: only for checkers that read them (`readsRun`). */
  source: "judge/source",
  run: "judge/run.json",
} as const;
/** The directory into which a checker writes messages and scores. It exists when the checker starts. */
export const FEEDBACK = "feedback";
/** A file of the feedback directory by which a checker asks for another pass. */
export const NEXT_PASS_FILE = "nextpass.in";

/** How a checker ended by itself, within its limits. */
export interface EndedChecker {
  readonly code: number;
  /** The beginning of each stream, for users. */
  readonly stdout: string;
  readonly stderr: string;
  /** How many bytes of standard error were kept, if the checker wrote more; null if all were kept. */
  readonly stderrCutAt: number | null;
  /** Finds the first line of the kept standard error that matches. The expression must have the flag `m`. */
  readonly lineOf: (line: RegExp) => RegExpExecArray | null;
  /** The text of a file of the feedback directory; null if there is no such file. */
  readonly feedback: (name: string) => string | null;
  /** Why the feedback directory could not be read; null if it could. */
  readonly unread: string | null;
}

const KATTIS_ARGS = [FILES.input, FILES.answer, `${FEEDBACK}/`];
const OUTPUT_ARGS = [FILES.input, FILES.output, FILES.answer];

export interface Interface {
  readonly args: readonly string[];
  readonly readsOutput: "stdin" | "file";
  /**
   * @param points the most points that the checker can give; null if it can only accept or reject.
   * @param acceptedShare as in ProgramChecker.
   * @returns null if the interface gives this end no meaning, such as a crash.
   */
  readonly result: (ended: EndedChecker, points: number | null, acceptedShare: number | null) => Checked | null;
}

/**
 * How checkers are called, and what their ends mean. Runtimes end with 1, 2, 101, 126, 127, 134 or 255 after an uncaught error.
 * A checker that fails in this way must not give points. `kattis` uses codes with which no runtime ends (42 and 43). `testlib`
 * also demands a text on standard error that only a deliberate decision writes. `dmoj` has no such text: a checker that crashes
 * with code 1 rejects the program, but no crash gives points. The same holds for its types.
 */
export const INTERFACES: Readonly<Record<ProgramChecker["interface"], Interface>> = {
  /** The output validator of problem packages. */
  kattis: { args: KATTIS_ARGS, readsOutput: "stdin", result: kattisResult },
  /**
   * Like `kattis`, but a checker that rejects the output can give a part of the points by `score_multiplier.txt`, and so can one that leaves
   * the decision open, by exit code 44.
   */
  "kattis-partial": {
    args: KATTIS_ARGS,
    readsOutput: "stdin",
    result: (ended, points, acceptedShare) => {
      const verdict = ended.code === 43 ? "WA" : ended.code === 44 ? UNDECIDED : null;
      if (verdict === null) return kattisResult(ended, points, acceptedShare);
      const checked = kattisResult({ ...ended, code: 42 }, points, 1);
      const isScored = ended.feedback("score_multiplier.txt") !== null;
      return checked?.verdict === "AC" ? { ...checked, verdict, share: isScored ? checked.share : 0 } : checked;
    },
  },
  /** Checkers with the public testlib.h, and others that write the same texts. */
  testlib: {
    /** For an interactor, the second argument is the file for its log. */
    args: OUTPUT_ARGS,
    readsOutput: "file",
    result: testlibResult,
  },
  /** The type `default` of DMOJ's checker `bridged`. */
  dmoj: { args: OUTPUT_ARGS, readsOutput: "file", result: exitCodeResult },
  /** The type `testlib`, which needs no text of testlib. Texts decide only about exit codes to which the type gives no meaning. */
  "dmoj-testlib": {
    args: OUTPUT_ARGS,
    readsOutput: "file",
    result: (ended, points) =>
      partialResult(ended, points, /^points (\d{1,15})$/m, ([, given], most) => fractionOf(Number(given), most)) ??
      testlibResult(ended, points),
  },
  /** The type `coci`: exit code 7 with a fraction. */
  "dmoj-coci": {
    args: OUTPUT_ARGS,
    readsOutput: "file",
    result: (ended, points) =>
      partialResult(
        ended,
        points,
        /^partial (\d{1,15})\/(\d{1,15})$/m,
        ([, part, whole]) => Number(part) / Number(whole),
      ),
  },
  /** The type `peg`: a decision by the exit code, or two numbers in consecutive lines of the message, whose quotient is the share. */
  "dmoj-peg": {
    args: [FILES.answer, FILES.output, FILES.input],
    readsOutput: "file",
    result: (ended, points) => {
      const decided = exitCodeResult(ended);
      if (decided === null || points === null) return decided;
      const numbers = ended.stdout.split("\n").map((line) => toNumber(line) ?? Number.NaN);
      const share = numbers.map((part, at) => part / (numbers[at + 1] ?? Number.NaN)).find((one) => one > 0);
      if (share === undefined) return decided;
      return toShare(share, decided.message) ?? failed(`the checker gives more than all points: ${ended.stdout}`);
    },
  },
  /** Checkers of CMS: the first line of standard output is the outcome, from 0 to 1, and that of standard error a message. */
  cms: {
    args: [FILES.input, FILES.answer, FILES.output],
    readsOutput: "file",
    result: ({ code, stdout, stderr }, points) => {
      if (code !== 0) return null;
      const [line = ""] = stdout.split("\n");
      const [message = ""] = stderr.split("\n");
      const outcome = toNumber(line) ?? Number.NaN;
      const text = (CMS_MESSAGES.get(message.trim()) ?? message.trim()) || null;
      if (outcome === 0) return rejected(text);
      if (outcome === 1) return accepted(text);
      if (points === null && outcome > 0 && outcome < 1) return failed(NO_POINTS);
      return toShare(outcome, text) ?? failed(`the outcome of the checker is not a number from 0 to 1: ${line}`);
    },
  },
};

/** Accepts with exit code 0 and rejects with 1, without a text. */
function exitCodeResult({ code, stdout, stderr }: EndedChecker): Checked | null {
  const message = stdout || stderr || null;
  if (code === 0) return accepted(message);
  return code === 1 ? rejected(message) : null;
}

/**
 * Like `exitCodeResult`, with two further exit codes: 2 rejects, and 7 gives a part of the points by a line of standard error.
 * @param share the part of the points that the line gives.
 */
function partialResult(
  ended: EndedChecker,
  points: number | null,
  line: RegExp,
  share: (found: RegExpExecArray, points: number) => number,
): Checked | null {
  const { code, stdout, stderr } = ended;
  const message = stdout || stderr || null;
  if (code === 2) return rejected(message ?? "presentation error");
  if (code !== POINTS_CODE) return exitCodeResult(ended);
  const found = ended.lineOf(line);
  if (!found)
    return failed(`the checker has exit code 7, but standard error does not say which part of the points: ${stderr}`);
  if (points === null) return failed(NO_POINTS);
  return toShare(share(found, points), message) ?? failed(`the points are not between 0 and all points: ${found[0]}`);
}

function kattisResult(
  { code, feedback, unread }: EndedChecker,
  points: number | null,
  acceptedShare: number | null,
): Checked | null {
  const message = feedback("judgemessage.txt") || null;
  if (code === 43) return rejected(message);
  if (code !== 42) return null;
  // The directory that could not be read may contain a score.
  if (unread !== null) return failed(unread);
  const [share = null, score = null] = [feedback("score_multiplier.txt"), feedback("score.txt")].map(toNumber);
  if (share === null && score === null) {
    if (points === null) return accepted(message);
    // Before the last pass, the checker needs to give no points.
    if (acceptedShare === null && feedback(NEXT_PASS_FILE) === null)
      return failed("the checker accepts the output, but writes no score.txt with its points");
    return { ...accepted(message), share: acceptedShare ?? 0 };
  }
  if (points === null) return failed(NO_POINTS);
  if (share !== null && score !== null) return failed("the checker has both score.txt and score_multiplier.txt");
  const most = share === null ? points : 1;
  return (
    toShare(share ?? fractionOf(score ?? 0, points), message) ??
    failed(`the checker has exit code 42, but its score is not between 0 and ${most}`)
  );
}

/** Texts that CMS translates for users. */
const CMS_MESSAGES: ReadonlyMap<string, string> = new Map([
  ["translate:success", "Output is correct"],
  ["translate:wrong", "Output isn't correct"],
  ["translate:partial", "Output is partially correct"],
]);

/** What testlib writes to standard error, at the start of a line, before it exits with one of these codes. */
const TESTLIB_VERDICTS: readonly (readonly [codes: readonly number[], text: RegExp, accepts: boolean])[] = [
  [[0], /^ok(?!\w)/m, true],
  [[1], /^wrong answer(?!\w)/m, false],
  // In older versions, code 4 means "extra information in the output"; its text begins like that of code 2.
  [[2, 4], /^wrong output format(?!\w)/m, false],
  [[8], /^unexpected eof(?!\w)/m, false],
];
const POINTS_CODE = 7;
/** `_pc(200)` gives all points. */
const MOST_PARTS = 200;
/** `_pc(n)` exits with n, or with 50 + n if the checker is compiled with TESTSYS. */
const PARTIAL_BASES = [0, 50];

function testlibResult({ code, stderr, stderrCutAt, lineOf }: EndedChecker, points: number | null): Checked | null {
  const message = stderr || null;
  // These texts count only at the start of standard error, because a checker may repeat output of the program after its result.
  const partial = /^partially correct \((\d{1,3})\)/.exec(stderr)?.[1];
  const score = /^points\s+(\S+)/.exec(stderr)?.[1];
  if (partial !== undefined && PARTIAL_BASES.some((base) => code === base + Number(partial))) {
    if (points === null) return failed(NO_POINTS);
    return (
      earned(shareOf(Number(partial), points), message) ??
      failed(`the number in _pc() is not between 0 and ${MOST_PARTS}: ${stderr}`)
    );
  }
  if (code === POINTS_CODE && score !== undefined) {
    if (points === null) return failed(NO_POINTS);
    if (score.startsWith("points_info="))
      return failed(`the checker gives points_info to a scorer, and there are no scorers: ${stderr}`);
    const given = toNumber(score) ?? Number.NaN;
    return (
      earned(fractionOf(given, points), message) ?? failed(`the points are not between 0 and ${points}: ${stderr}`)
    );
  }
  const verdict = TESTLIB_VERDICTS.find(([codes, text]) => codes.includes(code) && lineOf(text) !== null);
  if (verdict) return verdict[2] ? accepted(message) : rejected(message);
  const ofCode = TESTLIB_VERDICTS.find(([codes]) => codes.includes(code));
  if (stderrCutAt === null || !ofCode) return null;
  // The text may be in the part that was cut off. A code that rejects is then trusted without it: otherwise, a program could turn WA
  // into IE by an output about which the checker writes much.
  return ofCode[2]
    ? failed(
        `the first ${stderrCutAt} bytes that the checker wrote to standard error do not contain its result, and the rest was discarded`,
      )
    : rejected(message);
}

const NO_POINTS = "the checker gives points, but the test can only be accepted or rejected";

/** The share of the points of a test. A test that is worth 0 points, such as a sample, passes with every score from 0 up. */
function fractionOf(score: number, points: number): number {
  return points === 0 && score >= 0 ? 1 : score / points;
}

/** The share of the points of a test for `_pc(parts)`. */
function shareOf(parts: number, points: number): number {
  return points === 0 && parts <= MOST_PARTS ? 1 : parts / MOST_PARTS;
}

/** A program that earned no share of the points has not passed. */
function earned(share: number, message: string | null): Checked | null {
  return share === 0 ? rejected(message) : toShare(share, message);
}

/**
 * The most points of a test are rounded to six decimals. The points that a checker gives, divided by them, can therefore be slightly
 * more than 1.
 */
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
