import { ClientError } from "../../domain/error.ts";
import { expected } from "../../problems/expectations.ts";
import type { VerifiableSubmission } from "../../problems/submissions.ts";
import { countRequests } from "../access/rate-limit.ts";
import type { Verification, VerifiedSubmission } from "../dashboard/api/problems.ts";
import type { Dependencies } from "../dependencies.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { addJudgement, type Judging } from "./accept-judgement.ts";
import { toFields } from "./program-options.ts";

/** A version of a problem that has just been imported. */
interface Imported {
  readonly id: string;
  readonly version: number;
}

/**
 * Adds a judgement for each submission of the package. Each judgement is checked, counted against the rate limit and queued like a
 * separate request. @param pause awaited before each submission; if it throws, the remaining ones are not judged.
 */
export async function verifySubmissions(
  submissions: readonly VerifiableSubmission[],
  { id: problem, version }: Imported,
  judging: Judging,
  { dependencies, answers, pause }: { dependencies: Dependencies; answers: LongAnswers; pause: () => Promise<void> },
): Promise<Verification> {
  const verified: VerifiedSubmission[] = [];
  for (const { path, expectations, program } of submissions) {
    await pause();
    const about = { path, expectations, expected: expectations.map(expected) };
    if (!program) {
      verified.push({ ...about, judgementId: null, error: null });
      continue;
    }
    const { language, ...rest } = program;
    const { stdin_base64: _, ...fields } = toFields(rest);
    const on = { language, profile: "judge", stop: "never", problem, problem_version: version };
    try {
      await countRequests(judging.caller, dependencies);
      const judgementId = await addJudgement({ ...fields, ...on }, judging, dependencies, answers);
      verified.push({ ...about, judgementId, error: null });
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      verified.push({ ...about, judgementId: null, error: error.body.error });
    }
  }
  return { until: new Date(Date.now() + 1).toISOString(), submissions: verified };
}
