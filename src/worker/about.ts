import type { Claim } from "../store/submissions/port.ts";

/** Fields of every log line about a run. */
export function about({ submission }: Claim): { submission: string; key: string } {
  return { submission: submission.id, key: submission.keyId };
}
