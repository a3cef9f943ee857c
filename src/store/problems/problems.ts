import { randomUUID } from "node:crypto";
import type { Kysely, Selectable, Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import type { Definition } from "../../domain/judgement.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { keepComplete } from "../judgements/versions.ts";
import type { FoundProblem, NewProblem, Problem, ProblemBounds, ProblemVersion, PutProblem } from "./types.ts";

/** The most versions of a problem. When an import adds a further one, the oldest is removed from the problem. */
export const MAX_PROBLEM_VERSIONS = 10;

/** Held by each transaction that adds a problem or a version, so that concurrent ones cannot exceed the bounds together. */
const PROBLEMS_LOCK = "problems";

export type ProblemStore = ReturnType<typeof problemStore>;

/**
 * The problems of accounts. src/store/judgements/versions.ts stores the definitions and tests of their versions, as long as a problem or a
 * judgement uses them. For each method, a problem of another account than the given ones is unknown.
 * @param now milliseconds since the epoch.
 */
export function problemStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * Makes a stored version the current version of the problem with this name. If there is no such problem, it is created.
     * @param bounds null for no bounds. @param actor for an audit entry; null for a request with a key, which causes no entry.
     */
    put(problem: NewProblem, bounds: ProblemBounds | null, actor: AuditActor | null): Promise<PutProblem> {
      return transactions.run(async (trx) => {
        await abilities.lock(trx, PROBLEMS_LOCK);
        const put = await putProblem(trx, problem, bounds, now());
        if (actor !== null && put.kind === "stored" && put.isNew) {
          const { accountId, name } = problem;
          const detail = { name, version: put.version };
          await addAuditEntry(trx, {
            atMs: now(),
            actor,
            action: "problem.import",
            subject: put.id,
            accountId,
            detail,
          });
        }
        return put;
      });
    },

    /** Reads a problem with all its versions. @param accountIds the accounts that it may belong to; null for any. */
    async get(id: string, accountIds: readonly string[] | null): Promise<Problem | undefined> {
      if (id.includes("\0")) return undefined;
      const row = await selectProblems(db).where("problems.id", "=", id).executeTakeFirst();
      if (!row || (accountIds && !accountIds.includes(row.account_id))) return undefined;
      const versions = await db
        .selectFrom("problem_versions")
        .selectAll()
        .where("problem_seq", "=", row.seq)
        .orderBy("number", "desc")
        .execute();
      return { ...toFound(row), versions: versions.map(toVersion) };
    },

    /**
     * Problems with their current versions, newest first.
     * @param accountIds the accounts whose problems are listed; null for all. Each account has its own statement, because an index has
     * the problems of one account in this order.
     * @param before the `seq` of the last problem of the previous page.
     */
    async list(
      accountIds: readonly string[] | null,
      max: number,
      before = Number.MAX_SAFE_INTEGER,
    ): Promise<FoundProblem[]> {
      const newest = selectProblems(db).where("problems.seq", "<", before).orderBy("problems.seq", "desc").limit(max);
      if (accountIds === null) return (await newest.execute()).map(toFound);
      const parts = await Promise.all(
        [...new Set(accountIds)].map((accountId) => newest.where("account_id", "=", accountId).execute()),
      );
      const rows = parts.flat().sort((a, b) => b.seq - a.seq);
      return rows.slice(0, max).map(toFound);
    },

    /** The id of the problem with this id, or else with this name; undefined if there is none. */
    async find(accountId: string, nameOrId: string): Promise<string | undefined> {
      const rows = await db
        .selectFrom("problems")
        .select("id")
        .where("account_id", "=", accountId)
        .where((eb) => eb.or([eb("id", "=", nameOrId), eb("name", "=", nameOrId)]))
        .execute();
      return (rows.find(({ id }) => id === nameOrId) ?? rows[0])?.id;
    },

    /**
     * Deletes a problem. Its judgements and their tests stay until they expire.
     * @param actor for an audit entry; null for a request with a key. @returns false if there is no such problem.
     */
    delete(id: string, accountId: string, actor: AuditActor | null): Promise<boolean> {
      return transactions.run(async (trx) => {
        const removed = await trx
          .deleteFrom("problems")
          .where("id", "=", id)
          .where("account_id", "=", accountId)
          .returning("name")
          .executeTakeFirst();
        if (!removed) return false;
        const detail = { name: removed.name };
        if (actor !== null)
          await addAuditEntry(trx, { atMs: now(), actor, action: "problem.delete", subject: id, accountId, detail });
        return true;
      });
    },

    /**
     * The version of a problem on which a judgement is made. @param number of the version; undefined for the current one.
     * @returns undefined if there is no such problem, or it has no such version.
     */
    async versionFor(
      id: string,
      accountId: string,
      number: number | undefined,
    ): Promise<{ versionSeq: number; number: number; definition: Definition } | undefined> {
      if (id.includes("\0")) return undefined;
      const row = await db
        .selectFrom("problems")
        .innerJoin("problem_versions", "problem_versions.problem_seq", "problems.seq")
        .innerJoin("versions", "versions.seq", "problem_versions.version_seq")
        .select(["version_seq", "number", "definition"])
        .where("problems.id", "=", id)
        .where("problems.account_id", "=", accountId)
        .$if(number !== undefined, (query) => query.where("number", "=", number ?? 0))
        .$if(number === undefined, (query) => query.whereRef("number", "=", "problems.version"))
        .executeTakeFirst();
      if (!row) return undefined;
      const definition = JSON.parse(row.definition) as Definition;
      return { versionSeq: row.version_seq, number: row.number, definition };
    },
  };
}

async function putProblem(
  trx: Transaction<Schema>,
  { accountId, name, title, ...version }: NewProblem,
  bounds: ProblemBounds | null,
  nowMs: number,
): Promise<PutProblem> {
  if (!(await keepComplete(trx, version.versionSeq, nowMs))) return { kind: "versionGone" };
  const known = await selectProblems(trx)
    .where("account_id", "=", accountId)
    .where("problems.name", "=", name)
    .executeTakeFirst();
  if (known?.version_seq === version.versionSeq) {
    if (known.title !== title)
      await trx.updateTable("problems").set({ title, updated_at: nowMs }).where("seq", "=", known.seq).execute();
    return { kind: "stored", id: known.id, version: known.number, isNew: false };
  }
  const full = bounds && (await boundOf(trx, accountId, version.bytes, known === undefined, bounds));
  if (full) return { kind: "full", bound: full };
  const number = (known?.number ?? 0) + 1;
  const { seq, id } = known ?? (await insertProblem(trx, { accountId, name, title, nowMs }));
  await trx
    .insertInto("problem_versions")
    .values({
      problem_seq: seq,
      number,
      version_seq: version.versionSeq,
      tests: version.tests,
      bytes: version.bytes,
      cpu_secs: version.cpuSecs,
      memory_bytes: version.memoryBytes,
      faults: await faultsOf(trx, version.versionSeq),
      created_at: nowMs,
    })
    .execute();
  await trx.updateTable("problems").set({ title, version: number, updated_at: nowMs }).where("seq", "=", seq).execute();
  await trx
    .deleteFrom("problem_versions")
    .where("problem_seq", "=", seq)
    .where("number", "<=", number - MAX_PROBLEM_VERSIONS)
    .execute();
  return { kind: "stored", id, version: number, isNew: true };
}

/** The faults of a stored version in the form of their column: lists of problems need not read the definitions. */
async function faultsOf(trx: Transaction<Schema>, versionSeq: number): Promise<string | null> {
  const { definition } = await trx
    .selectFrom("versions")
    .select("definition")
    .where("seq", "=", versionSeq)
    .executeTakeFirstOrThrow();
  const { faults } = JSON.parse(definition) as Definition;
  return faults ? JSON.stringify(faults) : null;
}

function insertProblem(
  trx: Transaction<Schema>,
  { accountId, name, title, nowMs }: Pick<NewProblem, "accountId" | "name" | "title"> & { readonly nowMs: number },
): Promise<{ readonly seq: number; readonly id: string }> {
  const times = { created_at: nowMs, updated_at: nowMs };
  return trx
    .insertInto("problems")
    .values({ id: randomUUID(), account_id: accountId, name, title, version: 0, ...times })
    .returning(["seq", "id"])
    .executeTakeFirstOrThrow();
}

/** The bound that a new version of this size would exceed; null if none. @param adds whether a new problem would be added. */
async function boundOf(
  trx: Transaction<Schema>,
  accountId: string,
  bytes: number,
  adds: boolean,
  bounds: ProblemBounds,
): Promise<keyof ProblemBounds | null> {
  const has = await trx
    .selectFrom("problems")
    .leftJoin("problem_versions", "problem_versions.problem_seq", "problems.seq")
    .select((eb) => [
      eb.fn.count<number | string>("problems.seq").distinct().as("problems"),
      eb.fn.sum<number | string | null>("bytes").as("bytes"),
    ])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (adds && Number(has.problems) >= bounds.problems) return "problems";
  return Number(has.bytes ?? 0) + bytes > bounds.bytes ? "bytes" : null;
}

type FoundRow = Selectable<Schema["problems"]> &
  Omit<Selectable<Schema["problem_versions"]>, "problem_seq" | "created_at"> & {
    readonly version_created_at: number;
    readonly account_name: string;
  };

/** Selects problems with their current versions. */
function selectProblems(db: Pick<Kysely<Schema>, "selectFrom">) {
  return db
    .selectFrom("problems")
    .innerJoin("problem_versions", (join) =>
      join
        .onRef("problem_versions.problem_seq", "=", "problems.seq")
        .onRef("problem_versions.number", "=", "problems.version"),
    )
    .innerJoin("accounts", "accounts.id", "problems.account_id")
    .selectAll("problems")
    .select("accounts.name as account_name")
    .select(["number", "version_seq", "tests", "bytes", "cpu_secs", "memory_bytes", "faults"])
    .select("problem_versions.created_at as version_created_at");
}

function toFound(row: FoundRow): FoundProblem {
  return {
    id: row.id,
    account: { id: row.account_id, name: row.account_name },
    seq: row.seq,
    name: row.name,
    title: row.title,
    current: toVersion({ ...row, created_at: row.version_created_at }),
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  };
}

function toVersion(row: Omit<Selectable<Schema["problem_versions"]>, "problem_seq" | "version_seq">): ProblemVersion {
  return {
    number: row.number,
    tests: row.tests,
    bytes: row.bytes,
    cpuSecs: row.cpu_secs,
    memoryBytes: row.memory_bytes,
    faults: row.faults === null ? [] : (JSON.parse(row.faults) as string[]),
    createdAtMs: row.created_at,
  };
}
