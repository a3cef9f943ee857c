import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/**
 * Adds the headers of webhook requests and responses, the time since when an endpoint has been failing, and indexes for a search of the
 * audit trail by actor or action.
 */
export async function webhookHeadersAndAuditSearch(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  // The headers of the request, and the first headers of the response: JSON pairs of names and values. Null if there
  // was no request or no response, and for attempts of releases that did not store headers.
  await trx.schema.alterTable("attempts").addColumn("sent_headers", "text").execute();
  await trx.schema.alterTable("attempts").addColumn("answer_headers", "text").execute();
  // When the first delivery failed since the last success; null if none has failed since. See
  // `Endpoint.failingSinceMs`.
  await trx.schema.alterTable("endpoints").addColumn("failing_since", "bigint").execute();
  // An endpoint counts as failing if its newest delivery that ended with an attempt has failed.
  await sql`update endpoints set failing_since = (
      select case when state = 'failed' then ended_at end from deliveries
      where endpoint_id = endpoints.id and state <> 'pending' and reason is null order by seq desc limit 1)
    where removed_at is null and active = 1`.execute(trx);
  await sql`create index endpoints_failing on endpoints (failing_since, id) where failing_since is not null`.execute(
    trx,
  );
  await trx.schema.createIndex("audit_actor").on("audit").columns(["actor", "seq"]).execute();
  await trx.schema.createIndex("audit_action").on("audit").columns(["action", "seq"]).execute();
}
