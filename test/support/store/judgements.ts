import { randomUUID } from "node:crypto";
import type { Definition, Group, Stop } from "../../../src/domain/judgement.ts";
import { newSubmission, programOf, type SubmitRequest } from "../../../src/domain/submission.ts";
import type { Store } from "../../../src/store/store.ts";
import { START_MS } from "./temporary.ts";

export interface Added {
  readonly id: string;
  readonly accountId: string;
}

/** Adds a judgement of a key: test n has the input `n` and this answer, or the answer of its group's list. */
export async function addJudgement(
  store: Store,
  key: { readonly keyId: string; readonly accountId: string; readonly projectId?: string | null },
  {
    answers,
    stop = "first_failure",
    groups = [{ name: "", rule: "sum", depends: [] }],
    of = [],
    idempotencyKey,
  }: {
    readonly answers: readonly string[];
    readonly stop?: Stop;
    readonly groups?: readonly Group[];
    /** The group of each test. */
    readonly of?: readonly string[];
    readonly idempotencyKey?: string;
  },
): Promise<Added> {
  const request: SubmitRequest = { language: "python", profile: "judge", code: "print(input())", stdin: "" };
  const limits = { requestsPerMinute: 60, concurrency: 10, profiles: ["judge"], defaultProfile: "judge" } as const;
  const submission = newSubmission(request, { projectId: null, ...limits, ...key }, START_MS);
  const tests = answers.map((_, at) => ({
    name: String(at),
    group: of[at] ?? groups[0]?.name ?? "",
    points: 1,
    limits: {},
  }));
  const definition: Definition = { checker: { type: "lines" }, groups, tests };
  const contents = answers.map((answer, at) => [Buffer.from(String(at)), Buffer.from(answer)]);
  const version = { accountId: key.accountId, definition, checker: null, contents };
  const versionSeq = await store.judgements.putVersion(version, async () => {});
  const id = randomUUID();
  const accepted = await store.submissions.enqueue({
    submission,
    program: programOf(request),
    idempotency: idempotencyKey === undefined ? null : { key: idempotencyKey, requestHash: String(versionSeq) },
    maxPending: 1_000,
    judgement: { id, stop, versionSeq, tests: tests.length },
  });
  if (accepted.kind === "duplicate") return { id: accepted.judgementId ?? "", accountId: key.accountId };
  if (accepted.kind !== "enqueued") throw new Error(`the judgement is ${accepted.kind}`);
  return { id, accountId: key.accountId };
}
