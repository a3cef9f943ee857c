import { MAX_FILES } from "./program-options.ts";
import type { Program } from "./submission.ts";

/**
 * Problems whose submissions consist of answers instead of a program: a file for each test, which is checked like the output of a program.
 * In a box, the program of this language writes the file to its output, so each test has the record of a run.
 */
export const ANSWERS_LANGUAGE = "plaintext";

/** The most tests of such a problem, because a submission has a file for each of them. */
export const MAX_ANSWERED_TESTS = MAX_FILES;

/** What runs on a test. */
export interface Answering {
  readonly program: Program;
  /** Why the submission has no answer to the test; null if it has one. */
  readonly missing: string | null;
}

/**
 * @param answerFile the file that is the answer of a submission to the test; undefined if the problem wants programs. A program in another
 * language makes the answers, as those of the package can.
 */
export function answering(program: Program, language: string, answerFile: string | undefined): Answering {
  if (answerFile === undefined || language !== ANSWERS_LANGUAGE) return { program, missing: null };
  const { files = [], limits = {} } = program.options ?? {};
  const found = files.find(({ name }) => name === answerFile);
  return {
    program: {
      code: found?.data ?? Buffer.alloc(0),
      stdin: program.stdin,
      options: { files: [], entry: null, args: [], env: {}, limits },
    },
    missing: found ? null : `the submission has no file ${answerFile}`,
  };
}
