import { randomUUID } from "node:crypto";
import type { Checked } from "../../../src/domain/check.ts";
import type { JudgementVerdict, ProblemReference, Stop, TestGroup } from "../../../src/domain/judgement.ts";
import { internalError, type Outcome } from "../../../src/domain/outcome.ts";
import { newSubmission, programOf, type SubmitRequest } from "../../../src/domain/submission.ts";
import type { NewVersion } from "../../../src/store/judgements/types.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Claim, Enqueued } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { report, signalled } from "../verdict/reports.ts";
import { START_MS } from "./temporary.ts";

interface Added {
  readonly id: string;
  readonly accountId: string;
}

/** A version in which test n, from 0, has the input `n` and the answer of that index. */
export function newVersion(
  accountId: string,
  answers: readonly string[],
  groups: readonly TestGroup[] = [{ name: "", rule: "sum", depends: [] }],
  of: readonly string[] = [],
): NewVersion {
  const tests = answers.map((_, at) => ({
    name: String(at),
    group: of[at] ?? groups[0]?.name ?? "",
    points: 1,
    limits: {},
  }));
  const contents = answers.map((answer, at) => [Buffer.from(String(at)), Buffer.from(answer)]);
  return { accountId, definition: { checker: { type: "lines" }, groups, tests }, checker: null, contents };
}

interface JudgedKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly projectId?: string | null;
}

/** Adds a judgement on a version. */
export function enqueueJudgement(
  store: Store,
  key: JudgedKey,
  versionSeq: number,
  tests: number,
  stop: Stop,
  {
    id = randomUUID(),
    idempotencyKey,
    problem = null,
    code = "print(input())",
  }: {
    readonly id?: string;
    readonly code?: string | undefined;
    readonly idempotencyKey?: string | undefined;
    readonly problem?: ProblemReference | null;
  } = {},
): Promise<Enqueued> {
  const request: SubmitRequest = { language: "python", profile: "judge", code, stdin: "" };
  const limits = { requestsPerMinute: 60, concurrency: 10, executions: 16 } as const;
  const profiles = { profiles: ["judge"], defaultProfile: "judge" } as const;
  const submission = newSubmission(request, { projectId: null, ...limits, ...profiles, ...key }, START_MS);
  return store.submissions.enqueue({
    submission,
    program: programOf(request),
    idempotency: idempotencyKey === undefined ? null : { key: idempotencyKey, requestHash: String(versionSeq) },
    maxPending: 1_000,
    judgement: { id, stop, versionSeq, tests, problem },
  });
}

/** Adds a judgement of a key: its tests are those of {@link newVersion}. */
export async function addJudgement(
  store: Store,
  key: JudgedKey,
  {
    answers,
    stop = "first_failure",
    groups,
    of,
    idempotencyKey,
    code,
  }: {
    readonly code?: string;
    readonly answers: readonly string[];
    readonly stop?: Stop;
    readonly groups?: readonly TestGroup[];
    /** The group of each test. */
    readonly of?: readonly string[];
    readonly idempotencyKey?: string;
  },
): Promise<Added> {
  const version = newVersion(key.accountId, answers, groups, of);
  const versionSeq = await store.judgements.putVersion(version, async () => {});
  const id = randomUUID();
  const accepted = await enqueueJudgement(store, key, versionSeq, answers.length, stop, { id, idempotencyKey, code });
  if (accepted.kind === "duplicate") return { id: accepted.judgementId ?? "", accountId: key.accountId };
  if (accepted.kind !== "enqueued") throw new Error(`the judgement is ${accepted.kind}`);
  return { id, accountId: key.accountId };
}

export const LEASE_MS = 1_000;
export const AC = buildOutcome({ execute: report({ stdout: Buffer.from("x") }) });
export const TLE = buildOutcome({ execute: signalled(9, { killReason: "cpu" }) });
const CE = buildOutcome({ compile: report({ exitCode: 1 }) });

const checked = (verdict: Checked["verdict"], share = 1): Checked => ({
  verdict,
  share,
  message: verdict.toLowerCase(),
});

/** Ends a claim with a verdict of its test. */
export function finish(store: Store, { lease, test }: Claim, verdict: JudgementVerdict, share = 1): Promise<boolean> {
  const outcomes: Partial<Record<JudgementVerdict, Outcome>> = { TLE, CE, IE: internalError("broken") };
  const outcome = outcomes[verdict] ?? AC;
  const result = outcome === AC ? checked(verdict === "WA" ? "WA" : "AC", verdict === "WA" ? 0 : share) : null;
  return store.submissions.finish(lease, outcome, test && { judgementSeq: test.judgementSeq, checked: result });
}
