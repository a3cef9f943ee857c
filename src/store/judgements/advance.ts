import { randomUUID } from "node:crypto";
import { sql, type Transaction } from "kysely";
import { needsGrader } from "../../domain/grading.ts";
import {
  advance,
  type Definition,
  decodeStates,
  encodeStates,
  type GradedBy,
  groupScores,
  type JudgementVerdict,
  resultOfRun,
  type Stop,
  type TestState,
  totalOf,
} from "../../domain/judgement.ts";
import { cancelled } from "../../domain/outcome.ts";
import type { StoreNotification } from "../database/notifier.ts";
import type { Row, Schema } from "../database/schema.ts";
import { insertDeliveries } from "../deliveries/outbox.ts";
import { HEADS } from "../submissions/claim.ts";
import { ENDED_COLUMNS, type Ending, endedBy, insertOutcomes } from "../submissions/outcomes.ts";
import { encodeGrading, gradedBy } from "./grading.ts";

/**
 * The most runs of one judgement in the queue. If several keys of an account have pending submissions, the number is divided between
 * these keys, so that an account with many keys does not fill the queue. While a key has as many pending submissions as its part,
 * each of its judgements has only one run in the queue.
 */
const MOST_QUEUED = 64;

/** A judgement that the transaction has locked: no other transaction changes its states. */
export type Locked = Pick<Row<"judgements">, (typeof LOCKED_COLUMNS)[number]>;
const LOCKED_COLUMNS = [
  "seq",
  "id",
  "account_id",
  "key_id",
  "project_id",
  "version_seq",
  "language",
  "profile",
  "stop",
  "status",
  "states",
] as const satisfies readonly (keyof Row<"judgements">)[];

/**
 * Locks those of these judgements that have not ended. A transaction locks all its judgements at once, in the order of their numbers,
 * and before it changes their submissions: otherwise, transactions could wait for each other in a circle.
 */
export async function lockJudgements(
  trx: Transaction<Schema>,
  seqs: readonly (number | null | undefined)[],
): Promise<Locked[]> {
  const sorted = [...new Set(seqs)].filter((seq) => typeof seq === "number").sort((a, b) => a - b);
  const locked: Locked[] = [];
  for (const seq of sorted) {
    const row = await trx
      .updateTable("judgements")
      .set((eb) => ({ states: eb.ref("states") }))
      .where("seq", "=", seq)
      .where("completed_at", "is", null)
      .returning(LOCKED_COLUMNS)
      .executeTakeFirst();
    if (row) locked.push(row);
  }
  return locked;
}

/** Records the ends of runs and takes the next steps of their judgements. @returns the notifications to send. */
export async function advanceJudgements(
  trx: Transaction<Schema>,
  ended: readonly Ending[],
  locked: readonly Locked[],
  nowMs: number,
): Promise<StoreNotification[]> {
  const runs = Map.groupBy(ended, ({ row }) => row.judgement_seq);
  const notifications: StoreNotification[] = [];
  for (const judgement of locked) {
    const endedRuns = runs.get(judgement.seq) ?? [];
    if (endedRuns.length === 0) continue;
    const states = decodeStates(judgement.states);
    await recordRuns(trx, states, endedRuns);
    const grader = endedRuns.find(({ row }) => row.test === states.length);
    const graded = grader ? gradedBy(grader.row.id, grader.outcome, grader.grading) : null;
    notifications.push(...(await takeSteps(trx, judgement, states, graded, nowMs)));
  }
  return notifications;
}

async function recordRuns(trx: Transaction<Schema>, states: TestState[], ended: readonly Ending[]): Promise<void> {
  const rows = ended.flatMap(({ row, outcome, checked }) => {
    const { judgement_seq, test } = row;
    // If a test is not queued any more, the result of its run is not needed.
    if (judgement_seq === null || test === null || states[test] !== "queued") return [];
    const { cpuUsec, wallNs, memoryBytes, ...result } = resultOfRun(outcome, checked ?? null);
    states[test] = result.verdict;
    const measured = { cpu_usec: cpuUsec, wall_ns: wallNs, memory_bytes: memoryBytes };
    return { judgement_seq, test, submission_seq: row.seq, ...result, ...measured };
  });
  if (rows.length > 0) await trx.insertInto("runs").values(rows).execute();
}

/**
 * Starts and skips tests, and ends the judgement, as follows from the states of its tests (src/domain/judgement.ts).
 * If groups have a grader, a further run, whose number is that of the tests, grades the judgement before it ends.
 * @param states the states of all tests, changed in place. @param graded what the run of the grader has led to, if it has ended.
 * @returns the notifications to send.
 */
async function takeSteps(
  trx: Transaction<Schema>,
  judgement: Locked,
  states: TestState[],
  graded: GradedBy | null,
  nowMs: number,
): Promise<StoreNotification[]> {
  const definition = await readDefinition(trx, judgement.version_seq);
  const rules = { stop: judgement.stop as Stop, mostQueued: await mostQueued(trx, judgement) };
  const { start, skip, verdict } = advance(states, definition, rules);
  for (const test of skip) states[test] = "skipped";
  for (const test of start) states[test] = "queued";
  const stopped = await dropRuns(trx, judgement.seq, skip, nowMs);
  await insertRuns(trx, judgement, start, nowMs);
  const { seq } = judgement;
  const { grader } = definition;
  const isGraded = graded !== null || verdict === "IE" || !needsGrader({ definition, states });
  if (verdict !== null && isGraded) {
    const score = graded?.fault ? 0 : await scoreOf(trx, seq, definition, states, graded);
    const result = { states, verdict: graded?.fault ? ("IE" as const) : verdict, score, graded };
    return [...stopped, ...(await endJudgement(trx, judgement, result, nowMs))];
  }
  const grades = verdict !== null && grader !== undefined && !(await hasGraderRun(trx, seq, states.length));
  if (grades) {
    const run = { ...judgement, language: grader.language, profile: "judge" };
    await insertRuns(trx, run, [states.length], nowMs);
  }
  await trx
    .updateTable("judgements")
    .set({ status: "running", states: encodeStates(states) })
    .where("seq", "=", seq)
    .execute();
  const work: StoreNotification[] = start.length > 0 || grades ? [{ kind: "work" }] : [];
  return [...stopped, ...work, { kind: "live", id: judgement.id }];
}

async function hasGraderRun(trx: Transaction<Schema>, seq: number, test: number): Promise<boolean> {
  const found = await trx
    .selectFrom("submissions")
    .select("seq")
    .where("judgement_seq", "=", seq)
    .where("test", "=", test)
    .executeTakeFirst();
  return found !== undefined;
}

async function readDefinition(trx: Transaction<Schema>, seq: number): Promise<Definition> {
  const { definition } = await trx
    .selectFrom("versions")
    .select("definition")
    .where("seq", "=", seq)
    .executeTakeFirstOrThrow();
  return JSON.parse(definition) as Definition;
}

async function mostQueued(
  trx: Transaction<Schema>,
  { key_id, account_id }: Pick<Locked, "key_id" | "account_id">,
): Promise<number> {
  const { rows: heads } = await HEADS.execute(trx);
  const waiting = heads.map((head) => head.key_id).filter((key) => key !== key_id);
  const others = waiting.length === 0 ? 0 : await countOf(trx, account_id, waiting);
  const share = Math.max(1, Math.floor(MOST_QUEUED / (others + 1)));
  const { rows } = await sql<{ pending: number | string }>`select count(*) as pending from (
    select 1 from submissions where status = 'pending' and key_id = ${key_id} limit ${share}
  ) as waiting`.execute(trx);
  return Number(rows[0]?.pending) < share ? share : 1;
}

/** How many of these keys belong to the account; of more than MOST_COUNTED keys, only the first ones are counted. */
async function countOf(trx: Transaction<Schema>, accountId: string, keyIds: readonly string[]): Promise<number> {
  const { count } = await trx
    .selectFrom("api_keys")
    .select((eb) => eb.fn.countAll().as("count"))
    .where("id", "in", keyIds.slice(0, MOST_COUNTED))
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The most keys with pending submissions that are counted, which bounds the parameters of the statement. */
const MOST_COUNTED = 1_000;

/** Adds a pending submission for each of these tests of a judgement. */
async function insertRuns(
  trx: Transaction<Schema>,
  { seq, account_id, key_id, project_id, language, profile }: Omit<Locked, "states">,
  tests: readonly number[],
  nowMs: number,
): Promise<void> {
  if (tests.length === 0) return;
  const common = { account_id, key_id, project_id, language, profile, judgement_seq: seq, created_at: nowMs };
  const rows = tests.map((test) => ({ ...common, test, id: randomUUID(), status: "pending", attempts: 0 }));
  await trx.insertInto("submissions").values(rows).execute();
}

/**
 * Removes the pending runs of these tests, and cancels the running ones. A pending run with an idempotency key is cancelled too. The
 * history does not count these runs: they would appear there with the verdict IE, as if the platform had failed. A run that has ended
 * stays in the history, but its result is removed from the judgement.
 */
async function dropRuns(
  trx: Transaction<Schema>,
  judgementSeq: number,
  tests: readonly number[],
  nowMs: number,
): Promise<StoreNotification[]> {
  if (tests.length === 0) return [];
  await trx.deleteFrom("runs").where("judgement_seq", "=", judgementSeq).where("test", "in", tests).execute();
  const removed = await trx
    .deleteFrom("submissions")
    .where("judgement_seq", "=", judgementSeq)
    .where("test", "in", tests)
    .where("status", "=", sql.lit("pending"))
    .where("idempotency_key", "is", null) // otherwise, a repeated request would not find the submission
    .returning("id")
    .execute();
  const outcome = cancelled("the result of this test is not needed any more");
  const rows = await trx
    .updateTable("submissions")
    .set(endedBy(outcome, nowMs))
    .where("judgement_seq", "=", judgementSeq)
    .where("test", "in", tests)
    .where("status", "in", [sql.lit("pending"), sql.lit("running")])
    .returning(ENDED_COLUMNS)
    .execute();
  await insertOutcomes(
    trx,
    rows.map((row) => ({ row, outcome })),
  );
  return [...removed, ...rows].map(({ id }) => ({ kind: "ended", id }));
}

/** Ends a judgement that has not ended. @returns the notifications to send; undefined if it has ended or does not exist. */
export async function cancelJudgement(
  trx: Transaction<Schema>,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  nowMs: number,
): Promise<StoreNotification[] | undefined> {
  const row = await trx
    .selectFrom("judgements")
    .select("seq")
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  const [judgement] = await lockJudgements(trx, [row?.seq]);
  return judgement && (await stopJudgement(trx, judgement, nowMs));
}

/** Ends a judgement with the verdict IE, and cancels its runs. @returns the notifications to send. */
export async function stopJudgement(
  trx: Transaction<Schema>,
  judgement: Locked,
  nowMs: number,
): Promise<StoreNotification[]> {
  const states = decodeStates(judgement.states);
  const open = states.flatMap((state, test) => (state === "waiting" || state === "queued" ? [test] : []));
  for (const test of open) states[test] = "skipped";
  const stopped = await dropRuns(trx, judgement.seq, [...open, states.length], nowMs);
  const result = { states, verdict: "IE", score: 0, graded: null } as const;
  return [...stopped, ...(await endJudgement(trx, judgement, result, nowMs))];
}

/** Stores the end of a judgement, with its result and its deliveries. @returns the notifications to send. */
async function endJudgement(
  trx: Transaction<Schema>,
  judgement: Locked,
  result: {
    readonly states: readonly TestState[];
    readonly verdict: JudgementVerdict;
    readonly score: number;
    readonly graded: GradedBy | null;
  },
  nowMs: number,
): Promise<StoreNotification[]> {
  const { states, verdict, score, graded } = result;
  const grading = graded && encodeGrading(graded);
  const status = verdict === "IE" ? "error" : "completed";
  await trx
    .updateTable("judgements")
    .set({ states: encodeStates(states), status, verdict, score, grading, completed_at: nowMs })
    .where("seq", "=", judgement.seq)
    .execute();
  const { id, project_id, seq: judgement_seq } = judgement;
  const delivers = await insertDeliveries(trx, { id, project_id, judgement_seq }, nowMs);
  return [{ kind: "ended", id }, ...(delivers ? [{ kind: "deliveries" } as const] : [])];
}

async function scoreOf(
  trx: Transaction<Schema>,
  seq: number,
  definition: Definition,
  states: readonly TestState[],
  graded: GradedBy | null,
): Promise<number> {
  const rows = await trx.selectFrom("runs").select(["test", "share"]).where("judgement_seq", "=", seq).execute();
  const shares = states.map(() => 0);
  for (const { test, share } of rows) shares[test] = share;
  return totalOf(groupScores(definition, states, shares, graded)).score;
}
