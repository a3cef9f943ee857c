import type { Verification } from "../../../../src/http/dashboard/api/problems.ts";

/** The last verification of each problem. It is lost when the document is closed or reloaded; its judgements are not. */
const verifications = new Map<string, Verification>();

export function storeVerification(problem: string, verification: Verification | null): void {
  if (verification) verifications.set(problem, verification);
  // An import without a verification can have made a new version, to which the earlier verification does not apply.
  else verifications.delete(problem);
}

export function verificationOf(problem: string): Verification | undefined {
  return verifications.get(problem);
}
