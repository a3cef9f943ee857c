import type { Kysely } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import {
  type Definition,
  decodeStates,
  type EndedRun,
  type FoundJudgement,
  type Judgement,
  type JudgementVerdict,
  type ProblemReference,
  type Stop,
} from "../../domain/judgement.ts";
import type { ProfileName } from "../../domain/limits.ts";
import type { Status } from "../../domain/submission.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { AccountReads } from "../database/account-reads.ts";
import type { Database } from "../database/database.ts";
import type { Notifier } from "../database/notifier.ts";
import type { Row, Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { between, newestFirst } from "../search/newest.ts";
import { toProgram } from "../submissions/rows.ts";
import { cancelJudgement } from "./advance.ts";
import { decodeGrading } from "./grading.ts";
import type { JudgementFilter, NewVersion, Rejudged } from "./types.ts";
import { keepComplete, putVersion } from "./versions.ts";

/** The most judgements that one search reads: bounds how long a search for a rare verdict delays other work. */
const MAX_READ = 5_000;

export type JudgementStore = ReturnType<typeof judgementStore>;

/**
 * Judgements: programs that are run on many tests. `submissions.enqueue` adds a judgement with its first run. Whenever a run ends, the
 * transaction of its end takes the next steps of the judgement (advance.ts). @param now milliseconds since the epoch.
 */
export function judgementStore(
  { db, abilities }: Database,
  transactions: Transactions,
  notifier: Notifier,
  reads: AccountReads,
  now: () => number,
) {
  return {
    /**
     * Stores a definition with the contents of its tests, in several transactions, unless the account has stored them already.
     * @param pause awaited before each part of the work. @returns the sequence number of the version.
     */
    putVersion: (version: NewVersion, pause: () => Promise<void>): Promise<number> =>
      putVersion(db, transactions, abilities, version, now, pause),

    /** Reads a judgement with its ended runs. @returns undefined for an unknown id and for a judgement of another account. */
    async get(id: string, accountId: string): Promise<Judgement | undefined> {
      if (id.includes("\0")) return undefined;
      return await reads.run(accountId, async () => {
        const row = await selectJudgements(db)
          .where("judgements.id", "=", id)
          .where("account_id", "=", accountId)
          .executeTakeFirst();
        return row && (await readJudgement(db, row));
      });
    },

    /**
     * Searches the judgements of an account, newest first.
     * @returns `next`: `before` for a further search, also if this one found fewer than `max`; null if no older ones are left.
     */
    search(
      which: JudgementFilter,
    ): Promise<{ readonly found: readonly FoundJudgement[]; readonly next: number | null }> {
      return reads.run(which.accountId, () => search(db, which));
    },

    /**
     * Reads what is needed to judge the program of a judgement again.
     * @returns undefined if the account has no such judgement, or if contents of its version are missing or being deleted.
     */
    async readForRejudge(id: string, accountId: string): Promise<Rejudged | undefined> {
      const row = await db
        .selectFrom("judgements")
        .innerJoin("judged_programs", "judgement_seq", "judgements.seq")
        .innerJoin("versions", "versions.seq", "judgements.version_seq")
        .select([
          "definition",
          "language",
          "profile",
          "code",
          "additions",
          "stop",
          "version_seq",
          "states",
          "problem_id",
          "problem_version",
        ])
        .where("judgements.id", "=", id)
        .where("judgements.account_id", "=", accountId)
        .executeTakeFirst();
      if (!row) return undefined;
      const { language, code, additions, version_seq: versionSeq, states } = row;
      if (!(await transactions.run((trx) => keepComplete(trx, versionSeq, now())))) return undefined;
      return {
        language,
        profile: row.profile as ProfileName,
        program: toProgram({ code, stdin: Buffer.alloc(0), additions }),
        stop: row.stop as Stop,
        versionSeq,
        tests: states.length,
        definition: JSON.parse(row.definition) as Definition,
        problem: toProblem(row),
      };
    },

    /**
     * Ends a judgement with the status `error` and the verdict IE, and cancels its runs.
     * @param actor for an audit entry; undefined for a client with a key, which causes no entry.
     * @returns false, without changes, if the judgement has ended, or the account has no such judgement.
     */
    cancel(id: string, accountId: string, actor?: AuditActor): Promise<boolean> {
      return transactions
        .run(
          async (trx) => {
            // A claim chooses submissions before it updates them. In between, no submission may end.
            await abilities.lock(trx, "claim");
            const notifications = await cancelJudgement(trx, { id, accountId }, now());
            if (notifications && actor)
              await addAuditEntry(trx, {
                atMs: now(),
                actor,
                action: "judgement.cancel",
                subject: id,
                accountId,
                detail: {},
              });
            return notifications;
          },
          { notifications: (notifications) => (notifications ? [...notifications, { kind: "work" }] : []) },
        )
        .then((notifications) => notifications !== undefined);
    },

    /**
     * Calls the listener when the judgement has ended, and possibly at other times: the listener must read the status.
     * @returns a function that ends the subscription.
     */
    onEnd: (id: string, listener: () => void): (() => void) => notifier.onEnd(id, listener),

    /** Like `onEnd`, but calls the listener also when runs of the judgement have ended. */
    onChange(id: string, listener: () => void): () => void {
      const unsubscribers = [notifier.onEnd(id, listener), notifier.onLive(id, listener)];
      return () => {
        for (const unsubscribe of unsubscribers) unsubscribe();
      };
    },
  };
}

async function search(db: Kysely<Schema>, { accountId, problemId, before, max, ...which }: JudgementFilter) {
  const below = before ?? Number.MAX_SAFE_INTEGER;
  const newest = newestFirst(accountId, problemId);
  const range = between({ accountId, problemId }, 0, below);
  const last = await db
    .selectFrom("judgements")
    .select("seq")
    .where(range)
    .orderBy(newest)
    .limit(1)
    .offset(MAX_READ - 1)
    .executeTakeFirst();
  const floor = last?.seq ?? 0;
  let query = selectJudgements(db)
    .where(range)
    .where("seq", ">=", floor)
    .orderBy(newest)
    .limit(max + 1);
  for (const column of ["status", "verdict", "language"] as const) {
    const value = which[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  const rows = await query.execute();
  const more = rows.length > max ? (rows[max - 1]?.seq ?? null) : floor > 0 ? floor : null;
  return { found: rows.slice(0, max).map(toFound), next: more };
}

/** Finds a judgement of any account by its sequence number, and reads its runs. */
export async function readJudgementOf(db: Kysely<Schema>, seq: number): Promise<Judgement | undefined> {
  const row = await selectJudgements(db).where("seq", "=", seq).executeTakeFirst();
  return row && (await readJudgement(db, row));
}

const FOUND_COLUMNS = [
  "seq",
  "id",
  "account_id",
  "version_seq",
  "language",
  "profile",
  "stop",
  "status",
  "states",
  "verdict",
  "score",
  "created_at",
  "completed_at",
  "problem_id",
  "problem_version",
  "grading",
] as const satisfies readonly (keyof Row<"judgements">)[];
type FoundRow = Pick<Row<"judgements">, (typeof FOUND_COLUMNS)[number]>;

function selectJudgements(db: Kysely<Schema>) {
  return db.selectFrom("judgements").select(FOUND_COLUMNS);
}

function toFound(row: FoundRow): FoundJudgement {
  return {
    id: row.id,
    seq: row.seq,
    accountId: row.account_id,
    language: row.language,
    profile: row.profile as ProfileName,
    status: row.status as Status,
    verdict: row.verdict as JudgementVerdict | null,
    score: row.score,
    states: decodeStates(row.states),
    problem: toProblem(row),
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
  };
}

function toProblem(row: Pick<Row<"judgements">, "problem_id" | "problem_version">): ProblemReference | null {
  return row.problem_id === null ? null : { id: row.problem_id, version: row.problem_version ?? 0 };
}

async function readJudgement(db: Kysely<Schema>, row: FoundRow): Promise<Judgement> {
  const { definition } = await db
    .selectFrom("versions")
    .select("definition")
    .where("seq", "=", row.version_seq)
    .executeTakeFirstOrThrow();
  const runs = await db
    .selectFrom("runs")
    .innerJoin("submissions", "submissions.seq", "runs.submission_seq")
    .select(["runs.test", "submissions.id", "runs.verdict", "share", "message", "cpu_usec", "wall_ns", "memory_bytes"])
    .where("runs.judgement_seq", "=", row.seq)
    .orderBy("runs.test")
    .execute();
  return {
    ...toFound(row),
    stop: row.stop as Stop,
    grading: decodeGrading(row.grading),
    definition: JSON.parse(definition) as Definition,
    runs: runs.map(
      (run): EndedRun => ({
        test: run.test,
        submissionId: run.id,
        verdict: run.verdict as JudgementVerdict,
        share: run.share,
        message: run.message,
        cpuUsec: run.cpu_usec,
        wallNs: run.wall_ns,
        memoryBytes: run.memory_bytes,
      }),
    ),
  };
}
