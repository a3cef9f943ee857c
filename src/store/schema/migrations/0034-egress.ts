import type { Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

/** Adds the network of sandboxes: what they may reach, what operators permit, and what was reached. Earlier releases have no sandboxes with a network. */
export async function egress(trx: Transaction<Schema>): Promise<void> {
  await trx.schema
    // What an operator permits the sandboxes of an account, or of one of its projects.
    .createTable("network_bounds")
    // The id of the account or project.
    .addColumn("owner_id", "text", (c) => c.primaryKey())
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    // Null: the bound is that of the account.
    .addColumn("project_id", "text", (c) => c.references("projects.id"))
    // 1 at first, and one higher after each change.
    .addColumn("version", "integer", (c) => c.notNull())
    // JSON of the policy (toNetworkJson of src/domain/egress/policy.ts): at most 16 KiB.
    .addColumn("policy", "text", (c) => c.notNull())
    // Bytes of all sandboxes together on one day; null: there is no such bound.
    .addColumn("up_per_day", "bigint")
    .addColumn("down_per_day", "bigint")
    .addColumn("changed_at", "bigint", (c) => c.notNull())
    .execute();
  await trx.schema.createIndex("network_bounds_account").on("network_bounds").column("account_id").execute();
  await trx.schema
    // The bytes that sandboxes have leased of a day of an account or project, and not given back.
    .createTable("egress_days")
    // The id of the account or project.
    .addColumn("owner_id", "text", (c) => c.notNull())
    // In UTC, as in 2026-11-30.
    .addColumn("day", "text", (c) => c.notNull())
    .addColumn("bytes_up", "bigint", (c) => c.notNull())
    .addColumn("bytes_down", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("egress_days_pk", ["owner_id", "day"])
    .execute();
  await trx.schema.createIndex("egress_days_day").on("egress_days").column("day").execute();
  await trx.schema
    // What sandboxes have reached, or tried to. Hostile programs choose the names, of which a project has at most 1,000 a day.
    .createTable("egress_hosts")
    .addColumn("account_id", "text", (c) => c.notNull().references("accounts.id"))
    // In UTC, as in 2026-11-30.
    .addColumn("day", "text", (c) => c.notNull())
    // Empty for sandboxes without a project.
    .addColumn("project_id", "text", (c) => c.notNull())
    // A name or an address; empty for all others.
    .addColumn("name", "text", (c) => c.notNull())
    // `allowed` or `denied`.
    .addColumn("decision", "text", (c) => c.notNull())
    .addColumn("connections", "bigint", (c) => c.notNull())
    .addColumn("bytes_up", "bigint", (c) => c.notNull())
    .addColumn("bytes_down", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("egress_hosts_pk", ["account_id", "day", "project_id", "name", "decision"])
    .execute();
  await trx.schema.createIndex("egress_hosts_day").on("egress_hosts").column("day").execute();
  await trx.schema
    .alterTable("sandboxes")
    // JSON of its network policy; null: it was created without a network, and has none for good.
    .addColumn("network", "text")
    .execute();
  await trx.schema
    .alterTable("sandboxes")
    // The version of the policy: one higher after each replacement.
    .addColumn("network_version", "integer", (c) => c.notNull().defaultTo(1))
    .execute();
  await trx.schema
    .alterTable("sandboxes")
    // The bytes that its processes have leased of its budgets, and not given back.
    .addColumn("leased_up", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema
    .alterTable("sandboxes")
    .addColumn("leased_down", "bigint", (c) => c.notNull().defaultTo(0))
    .execute();
  await trx.schema
    // What a sandbox that has ended reached over the network. A table of its own, because lists of sandboxes read whole rows. A row can have several MiB.
    .createTable("sandbox_egress")
    .addColumn("sandbox_seq", "bigint", (c) => c.primaryKey().references("sandboxes.seq").onDelete("cascade"))
    // JSON of a SandboxEgressRecord (src/domain/egress/egress-record.ts), which can have 2 MiB.
    .addColumn("body", "text", (c) => c.notNull())
    .execute();
  await trx.schema
    .alterTable("executions")
    // JSON of what the execution reached over the network (EgressRecord), which can have 2 MiB.
    .addColumn("egress", "text")
    .execute();
  await trx.schema
    // What only submissions with a network have. The sandbox in which one runs has no row of its own.
    .createTable("submission_networks")
    .addColumn("submission_seq", "bigint", (c) => c.primaryKey().references("submissions.seq").onDelete("cascade"))
    // JSON of the network policy that the request asked for.
    .addColumn("network", "text", (c) => c.notNull())
    // The bytes that workers have leased of its budgets, and not given back.
    .addColumn("leased_up", "bigint", (c) => c.notNull().defaultTo(0))
    .addColumn("leased_down", "bigint", (c) => c.notNull().defaultTo(0))
    // JSON of what its run reached over the network (EgressRecord), which can have 2 MiB.
    .addColumn("egress", "text")
    .execute();
  await trx.schema
    .alterTable("links")
    // 1 if the sandboxes of the process can have a network.
    .addColumn("network", "integer", (c) => c.notNull().defaultTo(0))
    .execute();
}
