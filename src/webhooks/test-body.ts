import { toRecord } from "../domain/record.ts";

const WORDS = "This is a test of your webhook. Nothing was run.\n";

/**
 * The body of a test: a record of the usual form, so that it tests the receiver realistically. It
 * has no metrics or evidence, and its output explains that nothing was run.
 * @param id an id without a submission: a request for its result returns 404.
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
      result: {
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
