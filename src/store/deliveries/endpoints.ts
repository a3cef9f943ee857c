import { randomUUID } from "node:crypto";
import type { Selectable, Transaction } from "kysely";
import type { AuditAction, AuditActor } from "../../domain/audit.ts";
import type { Signing } from "../../domain/webhook.ts";
import { lockAccount, lockProject } from "../access/projects.ts";
import type { ListPage } from "../access/types.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { afterPosition, pageOf } from "../pagination.ts";
import { SECRETS_LOCK } from "./sealed-secrets.ts";
import type { Endpoint, Seal } from "./types.ts";

const DAY_MS = 86_400_000;

type EndpointRow = Selectable<Schema["endpoints"]>;

export type EndpointStore = ReturnType<typeof endpointStore>;

/** @param now milliseconds since the epoch. */
export function endpointStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  /**
   * Changes columns of an endpoint, with an audit entry. Without a difference, nothing is written.
   * @param also runs after the change, in the same transaction. @returns false if the endpoint does not exist or was removed.
   */
  const change = (
    id: string,
    action: AuditAction,
    actor: AuditActor,
    to: Partial<Pick<EndpointRow, "signing" | "active" | "removed_at">>,
    detail: Record<string, unknown>,
    also: (trx: Transaction<Schema>) => Promise<void> = async () => {},
  ) =>
    transactions.run(async (trx) => {
      const row = await read(trx, id);
      if (!row) return false;
      const differs = Object.entries(to).some(([name, value]) => row[name as keyof typeof to] !== value);
      if (!differs) return true;
      await trx.updateTable("endpoints").set(to).where("id", "=", id).execute();
      await also(trx);
      const accountId = await accountOf(trx, row);
      await addAuditEntry(trx, {
        atMs: now(),
        actor,
        action,
        subject: id,
        accountId,
        detail: { ...detailOf(row), ...detail },
      });
      return true;
    });

  return {
    /**
     * Adds an active endpoint.
     * @param most the most endpoints of the project.
     * @param aDay the most endpoints, including removed ones, that the account adds in 24 hours; null for any number. The row of the
     * account is locked while they are counted, so the bound holds for all processes.
     * @returns `full` if the project has `most` endpoints; `spent` if the account has added `aDay` endpoints; `no-project` if the project
     * does not exist or is archived.
     */
    add(
      endpoint: Pick<Endpoint, "id" | "projectId" | "url" | "signing"> & { readonly seal: Seal },
      most: number,
      actor: AuditActor,
      aDay: number | null = null,
    ): Promise<"added" | "full" | "spent" | "no-project"> {
      const { id, projectId, url, seal, signing } = endpoint;
      return transactions.run(async (trx) => {
        const atMs = now();
        const project = await lockProject(trx, projectId);
        if (!project || project.archived_at !== null) return "no-project";
        if (aDay !== null && (await addedSince(trx, project.account_id, atMs - DAY_MS)) >= aDay) return "spent";
        if ((await countOf(trx, projectId)) >= most) return "full";
        await abilities.lock(trx, SECRETS_LOCK);
        const row = { id, project_id: projectId, url, secret: seal(), signing, active: 1, created_at: atMs };
        await trx.insertInto("endpoints").values(row).execute();
        const detail = { projectId, origin: originOf(url), signing };
        const { account_id: accountId } = project;
        await addAuditEntry(trx, { atMs, actor, action: "endpoint.create", subject: id, accountId, detail });
        return "added";
      });
    },

    /** Endpoints that were not removed, newest first. */
    async list({
      projectId,
      ...part
    }: ListPage & { readonly projectId?: string | undefined } = {}): Promise<Endpoint[]> {
      const positionOf = (id: string) =>
        db
          .selectFrom("endpoints")
          .innerJoin("projects", "projects.id", "endpoints.project_id")
          .select(["endpoints.id", "endpoints.created_at", "projects.account_id"])
          .where("endpoints.id", "=", id)
          .executeTakeFirst();
      const rows = await pageOf(part, positionOf, (accountId, max, position) => {
        let query = db.selectFrom("endpoints").selectAll().where("removed_at", "is", null).limit(max);
        if (accountId !== null) {
          const projectIds = db.selectFrom("projects").select("id").where("account_id", "=", accountId);
          query = query.where("project_id", "in", projectIds);
        }
        if (projectId !== undefined) query = query.where("project_id", "=", projectId);
        if (position) query = query.where(afterPosition("endpoints", position));
        return query.orderBy("created_at", "desc").orderBy("id", "desc").execute();
      });
      return rows.map(toEndpoint);
    },

    /** The number of endpoints of each project, without removed ones. Projects without endpoints are absent. */
    async count(projectIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
      if (projectIds.length === 0) return new Map();
      const rows = await db
        .selectFrom("endpoints")
        .select((eb) => ["project_id", eb.fn.countAll<number | string>().as("amount")])
        .where("project_id", "in", projectIds)
        .where("removed_at", "is", null)
        .groupBy("project_id")
        .execute();
      return new Map(rows.map(({ project_id, amount }) => [project_id, Number(amount)]));
    },

    /** Active endpoints whose last delivery failed; those that have been failing longest come first. @param accountIds null for all. */
    async failing(accountIds: readonly string[] | null, max: number): Promise<Endpoint[]> {
      if (accountIds?.length === 0) return [];
      let query = db
        .selectFrom("endpoints")
        .selectAll()
        .where("failing_since", "is not", null)
        .where("active", "=", 1)
        .where("removed_at", "is", null)
        .limit(max);
      if (accountIds) {
        const projectIds = db.selectFrom("projects").select("id").where("account_id", "in", accountIds);
        query = query.where("project_id", "in", projectIds);
      }
      return (await query.orderBy("failing_since").orderBy("id").execute()).map(toEndpoint);
    },

    async get(id: string): Promise<Endpoint | undefined> {
      const row = await read(db, id);
      return row && toEndpoint(row);
    },

    /** Enables or disables an endpoint. @returns false if the endpoint does not exist or was removed. */
    setActive(id: string, active: boolean, actor: AuditActor): Promise<boolean> {
      return change(id, active ? "endpoint.enable" : "endpoint.disable", actor, { active: active ? 1 : 0 }, {});
    },

    /** Changes how messages are signed. @returns false if the endpoint does not exist or was removed. */
    setSigning(id: string, signing: Signing, actor: AuditActor): Promise<boolean> {
      return change(id, "endpoint.set-signing", actor, { signing }, { signing });
    },

    /**
     * Replaces the secret. During the overlap, deliveries are also signed with the old secret. An overlap of 0 ends the validity of
     * all old secrets at once.
     * @returns when the old secret expires, in milliseconds since the epoch; `full`, without changes to the secret, if `mostFormer` old
     * secrets are still valid; undefined if the endpoint does not exist or was removed.
     */
    setSecret(
      id: string,
      seal: Seal,
      { overlapMs, mostFormer }: { readonly overlapMs: number; readonly mostFormer: number },
      actor: AuditActor,
    ): Promise<number | "full" | undefined> {
      return transactions.run(async (trx) => {
        const atMs = now();
        await abilities.lock(trx, SECRETS_LOCK); // otherwise, two concurrent rotations would both keep the same old secret
        const row = await read(trx, id);
        if (!row) return undefined;
        const endsAtMs = atMs + overlapMs;
        const ended = trx.deleteFrom("former_secrets").where("endpoint_id", "=", id);
        await (overlapMs === 0 ? ended : ended.where("ends_at", "<=", atMs)).execute();
        if (overlapMs > 0) {
          if ((await countFormer(trx, id)) >= mostFormer) return "full";
          const former = { id: randomUUID(), endpoint_id: id, secret: row.secret, ends_at: endsAtMs };
          await trx.insertInto("former_secrets").values(former).execute();
        }
        await trx.updateTable("endpoints").set({ secret: seal() }).where("id", "=", id).execute();
        const entry = { atMs, actor, action: "endpoint.rotate-secret", subject: id } as const;
        const detail = { ...detailOf(row), formerEndsAt: new Date(endsAtMs).toISOString() };
        await addAuditEntry(trx, { ...entry, accountId: await accountOf(trx, row), detail });
        return endsAtMs;
      });
    },

    /** Removes an endpoint; its row stays for its deliveries. @returns false if the endpoint does not exist or was removed before. */
    remove(id: string, actor: AuditActor): Promise<boolean> {
      return change(id, "endpoint.remove", actor, { active: 0, removed_at: now() }, {}, async (trx) => {
        await trx.deleteFrom("former_secrets").where("endpoint_id", "=", id).execute();
      });
    },
  };
}

async function read(db: Pick<Transaction<Schema>, "selectFrom">, id: string): Promise<EndpointRow | undefined> {
  return await db
    .selectFrom("endpoints")
    .selectAll()
    .where("id", "=", id)
    .where("removed_at", "is", null)
    .executeTakeFirst();
}

/** The number of endpoints, including removed ones, that the account has added since then. It locks the row of the account. */
async function addedSince(trx: Transaction<Schema>, accountId: string, sinceMs: number): Promise<number> {
  await lockAccount(trx, accountId);
  const { amount } = await trx
    .selectFrom("endpoints")
    .innerJoin("projects", "projects.id", "endpoints.project_id")
    .select((eb) => eb.fn.countAll<number | string>().as("amount"))
    .where("projects.account_id", "=", accountId)
    .where("endpoints.created_at", ">", sinceMs)
    .executeTakeFirstOrThrow();
  return Number(amount);
}

async function countOf(trx: Transaction<Schema>, projectId: string): Promise<number> {
  const { amount } = await trx
    .selectFrom("endpoints")
    .select((eb) => eb.fn.countAll<number>().as("amount"))
    .where("project_id", "=", projectId)
    .where("removed_at", "is", null)
    .executeTakeFirstOrThrow();
  return Number(amount);
}

async function countFormer(trx: Transaction<Schema>, endpointId: string): Promise<number> {
  const { amount } = await trx
    .selectFrom("former_secrets")
    .select((eb) => eb.fn.countAll<number>().as("amount"))
    .where("endpoint_id", "=", endpointId)
    .executeTakeFirstOrThrow();
  return Number(amount);
}

async function accountOf(trx: Transaction<Schema>, { project_id }: Pick<EndpointRow, "project_id">): Promise<string> {
  const project = await trx
    .selectFrom("projects")
    .select("account_id")
    .where("id", "=", project_id)
    .executeTakeFirstOrThrow();
  return project.account_id;
}

/** The details of an endpoint for an audit entry. */
function detailOf({ project_id, url }: Pick<EndpointRow, "project_id" | "url">) {
  return { projectId: project_id, origin: originOf(url) };
}

/** The account and the details of an endpoint for an audit entry. The endpoint may have been removed. */
export async function aboutEndpoint(trx: Transaction<Schema>, id: string) {
  const row = await trx.selectFrom("endpoints").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  return { accountId: await accountOf(trx, row), detail: detailOf(row) };
}

/** A URL without its path and query. They may contain a token of the receiver, and audit entries of endpoints are never deleted. */
function originOf(url: string): string {
  return new URL(url).origin;
}

function toEndpoint(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    projectId: row.project_id,
    url: row.url,
    secret: row.secret,
    signing: row.signing as Signing,
    active: row.active === 1,
    createdAtMs: row.created_at,
    failingSinceMs: row.failing_since,
  };
}
