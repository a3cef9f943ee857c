import { randomUUID } from "node:crypto";
import type { Selectable, Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { afterPosition, liveAt, pageOf } from "../pagination.ts";
import type { ListPage, Project } from "./types.ts";

type ProjectRow = Selectable<Schema["projects"]>;

export type ProjectStore = ReturnType<typeof projectStore>;

/** @param now milliseconds since the epoch. */
export function projectStore({ db }: Database, transactions: Transactions, now: () => number) {
  const select = () =>
    db
      .selectFrom("projects")
      .innerJoin("accounts", "accounts.id", "projects.account_id")
      .selectAll("projects")
      .select("accounts.name as account_name")
      .orderBy("projects.created_at", "desc")
      .orderBy("projects.id", "desc");

  return {
    /**
     * Creates a project. @param most the most projects of the account, including archived ones; null for no limit.
     * @returns the id of the project; undefined if the account has a project with this name; null if it has `most` projects.
     */
    create(
      accountId: string,
      name: string,
      actor: AuditActor,
      most: number | null = null,
    ): Promise<string | undefined | null> {
      return transactions.run(async (trx) => {
        const atMs = now();
        if (most !== null) {
          await lockAccount(trx, accountId);
          if ((await countProjects(trx, accountId)) >= most) return null;
        }
        const made = await trx
          .insertInto("projects")
          .values({ id: randomUUID(), account_id: accountId, name, created_at: atMs })
          .onConflict((conflict) => conflict.columns(["account_id", "name"]).doNothing())
          .returning("id")
          .executeTakeFirst();
        if (!made) return undefined;
        await addAuditEntry(trx, {
          atMs,
          actor,
          action: "project.create",
          subject: made.id,
          accountId,
          detail: { name },
        });
        return made.id;
      });
    },

    /** Projects, newest first. @param open whether archived projects are left out. */
    async list({ open = false, ...part }: ListPage & { readonly open?: boolean | undefined } = {}): Promise<Project[]> {
      const positionOf = (id: string) =>
        db.selectFrom("projects").select(["id", "created_at", "account_id"]).where("id", "=", id).executeTakeFirst();
      const rows = await pageOf(part, positionOf, (accountId, max, position) => {
        let query = select().limit(max);
        if (accountId !== null) query = query.where("projects.account_id", "=", accountId);
        if (open) query = query.where("projects.archived_at", "is", null);
        if (position) query = query.where(afterPosition("projects", position));
        return query.execute();
      });
      return rows.map(toProject);
    },

    async get(id: string): Promise<Project | undefined> {
      const row = await select().where("projects.id", "=", id).executeTakeFirst();
      return row && toProject(row);
    },

    /** The project with this id, or else the projects with this name, at most one of each account. */
    async find(nameOrId: string): Promise<Project[]> {
      const byId = await select().where("projects.id", "=", nameOrId).execute();
      // Names have no index of their own, because only operators search by name.
      const rows = byId.length > 0 ? byId : await select().where("projects.name", "=", nameOrId).execute();
      return rows.map(toProject);
    },

    /** Renames a project. @returns false for an unknown project, and if another project of the account has the name. */
    rename(id: string, name: string, actor: AuditActor): Promise<boolean> {
      return transactions.run(async (trx) => {
        const project = await lockProject(trx, id);
        if (!project) return false;
        if (project.name === name) return true;
        const taken = await trx
          .selectFrom("projects")
          .select("id")
          .where("account_id", "=", project.account_id)
          .where("name", "=", name)
          .executeTakeFirst();
        if (taken) return false;
        await trx.updateTable("projects").set({ name }).where("id", "=", id).execute();
        const entry = {
          subject: id,
          accountId: project.account_id,
          detail: { name: { from: project.name, to: name } },
        };
        await addAuditEntry(trx, { atMs: now(), actor, action: "project.rename", ...entry });
        return true;
      });
    },

    /** Archives a project if it has no live keys. @returns the number of live keys that prevented it; otherwise 0. */
    archive(id: string, actor: AuditActor): Promise<number> {
      return transactions.run(async (trx) => {
        const atMs = now();
        const project = await lockProject(trx, id);
        if (!project || project.archived_at !== null) return 0;
        const liveKeys = await countLiveKeys(trx, id, atMs);
        if (liveKeys > 0) return liveKeys;
        await trx.updateTable("projects").set({ archived_at: atMs }).where("id", "=", id).execute();
        const entry = { subject: id, accountId: project.account_id, detail: { name: project.name } };
        await addAuditEntry(trx, { atMs, actor, action: "project.archive", ...entry });
        return 0;
      });
    },

    /** Makes an archived project usable again. */
    async restore(id: string, actor: AuditActor): Promise<void> {
      await transactions.run(async (trx) => {
        const project = await lockProject(trx, id);
        if (!project || project.archived_at === null) return;
        await trx.updateTable("projects").set({ archived_at: null }).where("id", "=", id).execute();
        const entry = { subject: id, accountId: project.account_id, detail: { name: project.name } };
        await addAuditEntry(trx, { atMs: now(), actor, action: "project.restore", ...entry });
      });
    },
  };
}

/**
 * Locks a project until the end of the transaction, so that other transactions cannot archive it meanwhile, or add keys or endpoints to
 * it. An update without changes locks a row on every engine.
 * @returns the project; undefined if there is none.
 */
export async function lockProject(trx: Transaction<Schema>, id: string): Promise<ProjectRow | undefined> {
  return await trx
    .updateTable("projects")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
}

/** Locks an account until the end of the transaction: transactions that count its objects before they add one are thus serialised. */
export async function lockAccount(trx: Transaction<Schema>, id: string): Promise<void> {
  await trx
    .updateTable("accounts")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", id)
    .execute();
}

async function countProjects(trx: Transaction<Schema>, accountId: string): Promise<number> {
  const { amount } = await trx
    .selectFrom("projects")
    .select((eb) => eb.fn.countAll<number | string>().as("amount"))
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return Number(amount);
}

async function countLiveKeys(trx: Transaction<Schema>, projectId: string, nowMs: number): Promise<number> {
  const { live } = await trx
    .selectFrom("api_keys")
    .select((eb) => eb.fn.countAll<number>().as("live"))
    .where("project_id", "=", projectId)
    .where((eb) => liveAt(eb, nowMs))
    .executeTakeFirstOrThrow();
  return Number(live);
}

function toProject(row: ProjectRow & { account_name: string }): Project {
  return {
    id: row.id,
    accountId: row.account_id,
    accountName: row.account_name,
    name: row.name,
    createdAtMs: row.created_at,
    archivedAtMs: row.archived_at,
  };
}
