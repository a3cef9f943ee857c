import type { Transaction } from "kysely";
import type { Capabilities } from "../../engine/engine.ts";
import type { Schema } from "../schema.ts";

/** Of ended submissions, for lists: their outcomes have it behind megabytes of output. And the submission that one repeats. */
export async function causes(trx: Transaction<Schema>, _: Capabilities): Promise<void> {
  await trx.schema.alterTable("submissions").addColumn("cause", "text").execute();
  await trx.schema.alterTable("submissions").addColumn("original_id", "text").execute();
}
