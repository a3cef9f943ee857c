import { ANSWERS_LANGUAGE } from "../domain/answers.ts";
import type { Language } from "../domain/language.ts";
import { toFilePath } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import {
  COMPARED_BOUNDS,
  comparedExpectations,
  type Expectation,
  readExpectations,
  type SubmissionExpectations,
} from "./expectations.ts";
import { PackageError, type PackageFiles, sizeOf } from "./files.ts";
import type { ProblemPackage } from "./package.ts";
import { toProgram } from "./source.ts";

/** The directory of the submissions of a package. */
export const SUBMISSIONS = "submissions/";

/** The most submissions of a package that a service verifies, and the most bytes of their files together. */
const MAX_SUBMISSIONS = 50;
const MAX_BYTES = 16_777_216;

/** A submission of the package with its expectations. */
export interface OwnSubmission {
  /** The path in the package. */
  readonly path: string;
  readonly about: SubmissionExpectations;
  readonly bytes: number;
  /** Null if the submission is in no installed language, or is no valid program. */
  readonly found: { readonly language: Language; readonly program: Program } | null;
  /** Why the submission is no valid program; null if it is one. */
  readonly fault: PackageError | null;
}

/**
 * Reads the submissions of a package with their expectations. The format of DMOJ has no submissions. A submission that is no valid program
 * does not keep the others from being read.
 */
export function readSubmissions(
  files: PackageFiles,
  { format, submissions, expectations, definition }: ProblemPackage,
  languages: Languages,
): OwnSubmission[] {
  if (format === "dmoj") return [];
  const byDirectory = expectations ? null : readExpectations(files, format);
  const answerFiles = new Set(definition.tests.flatMap(({ answerFile }) => answerFile ?? []));
  return submissions.map((source) => {
    const { path } = source;
    // Besides answers, a package whose submissions are answers can have programs that make them.
    const isAnswers = [...source.files.keys()].some((name) => answerFiles.has(name));
    const about = byDirectory?.(path.slice(SUBMISSIONS.length)) ?? expectations?.get(path) ?? { expectations: [] };
    try {
      const bytes = [...source.files.keys()].reduce((sum, name) => sum + (sizeOf(source.files, name) ?? 0), 0);
      return { path, about, bytes, found: toProgram(source, languages, isAnswers ? ANSWERS : about), fault: null };
    } catch (error) {
      if (!(error instanceof PackageError)) throw error;
      return { path, about, bytes: 0, found: null, fault: error };
    }
  });
}

const ANSWERS = { language: ANSWERS_LANGUAGE };

/** A submission in the form in which a service judges it. */
export interface VerifiableSubmission {
  readonly path: string;
  readonly expectations: readonly Expectation[];
  /** Null if the submission is in no installed language. */
  readonly program: (Program & { readonly language: string }) | null;
}

/** Reads the submissions that a service verifies. @throws PackageError beyond the bounds of a service, and for an invalid program. */
export function readVerifiable(
  files: PackageFiles,
  problem: ProblemPackage,
  languages: Languages,
): VerifiableSubmission[] {
  // This is checked before the submissions are read, which takes time for each of them.
  if (problem.format !== "dmoj" && problem.submissions.length > MAX_SUBMISSIONS)
    throw fault(`has more than ${MAX_SUBMISSIONS} programs to verify`);
  const submissions = readSubmissions(files, problem, languages);
  if (submissions.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_BYTES)
    throw fault(`has more than ${MAX_BYTES} bytes to verify`);
  return submissions.map(({ path, about, found, fault }) => {
    if (fault) throw fault;
    if (toFilePath(path) === null) throw new PackageError(path, "is not a valid name of a submission to verify");
    const { success } = comparedExpectations.safeParse(about.expectations);
    if (!success) throw new PackageError(path, `has more than ${COMPARED_BOUNDS}`);
    const program = found && { ...found.program, language: found.language.name };
    return { path, expectations: about.expectations, program };
  });
}

function fault(message: string): PackageError {
  return new PackageError("submissions", message);
}
