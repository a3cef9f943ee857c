import type { Grading } from "../../domain/grading.ts";
import type { GradedBy } from "../../domain/judgement.ts";
import type { Outcome } from "../../domain/outcome.ts";

/** The JSON in the column `grading` of a judgement. */
interface StoredGrading extends Grading {
  /** The id of the run of the grader. */
  readonly submissionId: string;
}

/**
 * What the run of a grader has led to, for the database.
 * @param grading undefined if the run ended without one, for example because it was cancelled.
 */
export function gradedBy(submissionId: string, { result }: Outcome, grading: Grading | null | undefined): GradedBy {
  return { submissionId, ...(grading ?? { groups: {}, fault: result.errorMessage ?? "the grader could not run" }) };
}

export function encodeGrading(grading: GradedBy): string {
  return JSON.stringify(grading satisfies StoredGrading);
}

export function decodeGrading(text: string | null): GradedBy | null {
  return text === null ? null : (JSON.parse(text) as StoredGrading);
}
