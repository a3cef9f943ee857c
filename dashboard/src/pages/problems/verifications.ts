import type { Verification } from "../../../../src/http/dashboard/api/problems.ts";

/** The last verification of each problem. It is kept while the document is open; the judgements stay. */
const verifications = new Map<string, Verification>();

export function storeVerification(problem: string, verification: Verification | null): void {
  if (verification) verifications.set(problem, verification);
  // The version can have changed.
  else verifications.delete(problem);
}

export function verificationOf(problem: string): Verification | undefined {
  return verifications.get(problem);
}
