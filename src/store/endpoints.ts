import type { Selectable, Transaction } from "kysely";
import type { AuditAction } from "../domain/audit.ts";
import type { Signing } from "../domain/webhook.ts";
import type { Endpoint, EndpointStore } from "./admin-port.ts";
import { note } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { behindPlace, partOf } from "./parts.ts";
import { lockProject } from "./projects.ts";
import type { Schema } from "./schema.ts";
import type { Transactions } from "./transactions.ts";

type EndpointRow = Selectable<Schema["endpoints"]>;

/** @param now milliseconds since the epoch. */
export function endpointStore({ db }: Engine, transactions: Transactions, now: () => number): EndpointStore {
  /** Changes an endpoint that was not removed, and notes it unless it was so already. */
  const change = (
    id: string,
    action: AuditAction,
    actor: string,
    to: Partial<Pick<EndpointRow, "secret" | "signing" | "active" | "removed_at">>,
    detail: Record<string, unknown>,
  ) =>
    transactions.run(async (trx) => {
      const row = await read(trx, id);
      if (!row) return false;
      const differs = Object.entries(to).some(([name, value]) => row[name as keyof typeof to] !== value);
      if (!differs) return true;
      await trx.updateTable("endpoints").set(to).where("id", "=", id).execute();
      const { account_id: accountId } = await trx
        .selectFrom("projects")
        .select("account_id")
        .where("id", "=", row.project_id)
        .executeTakeFirstOrThrow();
      const where = { projectId: row.project_id, origin: originOf(row.url) };
      await note(trx, { atMs: now(), actor, action, subject: id, accountId, detail: { ...where, ...detail } });
      return true;
    });

  return {
    add(endpoint, most, actor) {
      const { id, projectId, url, secret, signing } = endpoint;
      return transactions.run(async (trx) => {
        const atMs = now();
        const project = await lockProject(trx, projectId);
        if (!project || project.archived_at !== null) return "no-project";
        if ((await countOf(trx, projectId)) >= most) return "full";
        const row = { id, project_id: projectId, url, secret, signing, active: 1, created_at: atMs };
        await trx.insertInto("endpoints").values(row).execute();
        const detail = { projectId, origin: originOf(url), signing };
        const { account_id: accountId } = project;
        await note(trx, { atMs, actor, action: "endpoint.create", subject: id, accountId, detail });
        return "added";
      });
    },

    async list({ projectId, ...part } = {}) {
      const placeOf = (id: string) =>
        db.selectFrom("endpoints").select(["id", "created_at"]).where("id", "=", id).executeTakeFirst();
      const rows = await partOf(part, placeOf, (accountId, max, place) => {
        let query = db.selectFrom("endpoints").selectAll().where("removed_at", "is", null).limit(max);
        if (accountId !== null) {
          const own = db.selectFrom("projects").select("id").where("account_id", "=", accountId);
          query = query.where("project_id", "in", own);
        }
        if (projectId !== undefined) query = query.where("project_id", "=", projectId);
        if (place) query = query.where(behindPlace("endpoints", place));
        return query.orderBy("created_at", "desc").orderBy("id", "desc").execute();
      });
      return rows.map(toEndpoint);
    },

    async count(projectIds) {
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

    async get(id) {
      const row = await read(db, id);
      return row && toEndpoint(row);
    },

    setActive(id, active, actor) {
      return change(id, active ? "endpoint.enable" : "endpoint.disable", actor, { active: active ? 1 : 0 }, {});
    },

    setSigning(id, signing, actor) {
      return change(id, "endpoint.set-signing", actor, { signing }, { signing });
    },

    setSecret(id, secret, actor) {
      return change(id, "endpoint.rotate-secret", actor, { secret }, {});
    },

    remove(id, actor) {
      return change(id, "endpoint.remove", actor, { active: 0, removed_at: now() }, {});
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

async function countOf(trx: Transaction<Schema>, projectId: string): Promise<number> {
  const { amount } = await trx
    .selectFrom("endpoints")
    .select((eb) => eb.fn.countAll<number>().as("amount"))
    .where("project_id", "=", projectId)
    .where("removed_at", "is", null)
    .executeTakeFirstOrThrow();
  return Number(amount);
}

/** Path and query of a URL may hold a token of the receiver; the audit trail is kept for ever. */
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
  };
}
