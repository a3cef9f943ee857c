import type { Claim } from "../store/submissions/types.ts";

/** Fields of every log line about a run. */
export function logFields({ submission }: Claim): { submission: string; key: string } {
  return { submission: submission.id, key: submission.keyId };
}
