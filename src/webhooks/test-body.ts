import { toRecord } from "../domain/record.ts";

const WORDS = "This is a test of your webhook. Nothing was run.\n";

/**
 * The body of a test: a record in the form of every other, so that a receiver meets what it
 * will meet. It claims nothing: it has no metrics and no evidence, and its output says why.
 * @param id nobody's; asking for its result is answered with 404.
 */
export function testBody(id: string, nowMs: number): Buffer {
  const record = toRecord({
    id,
    accountId: "",
    keyId: "",
    projectId: null,
    language: "python",
    profile: "judge",
    status: "completed",
    attempts: 1,
    createdAtMs: nowMs,
    startedAtMs: nowMs,
    completedAtMs: nowMs,
    outcome: {
      status: "completed",
      judgement: {
        verdict: "AC",
        cause: "normal_exit",
        actor: "runtime",
        exitCode: 0,
        signal: null,
        errorMessage: null,
      },
      output: { stdout: Buffer.from(WORDS), stderr: Buffer.alloc(0), integrity: "complete" },
      metrics: null,
      evidence: null,
    },
  });
  return Buffer.from(JSON.stringify(record), "utf8");
}
