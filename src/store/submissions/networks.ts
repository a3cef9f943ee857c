import { type Kysely, sql, type Transaction } from "kysely";
import type { EgressRecord } from "../../domain/egress/egress-record.ts";
import { fromNetworkJson, type NetworkPolicy, toNetworkJson } from "../../domain/egress/policy.ts";
import type { Schema } from "../database/schema.ts";
import type { ReserveMemory } from "./types.ts";

/** The network of a submission that a worker has claimed. */
export interface ClaimedNetwork {
  /** What its request asked for. The bound of its account can be narrower by now. */
  readonly policy: NetworkPolicy;
  /** What counts as used of its budgets, because an earlier claim leased it. */
  readonly leased: { readonly up: number; readonly down: number };
}

/** What a submission with a network may reach, and what it has reached. */
export interface SubmissionNetwork {
  readonly policy: NetworkPolicy;
  /** Null until its run has ended, and if that was lost. */
  readonly egress: EgressRecord | null;
}

export async function insertNetworks(
  trx: Transaction<Schema>,
  networks: readonly { readonly seq: number; readonly policy: NetworkPolicy }[],
): Promise<void> {
  if (networks.length === 0) return;
  const rows = networks.map(({ seq, policy }) => ({
    submission_seq: seq,
    network: JSON.stringify(toNetworkJson(policy)),
  }));
  await trx.insertInto("submission_networks").values(rows).execute();
}

/** The networks of claimed submissions, by sequence number. Those without a network are absent. */
export async function claimedNetworks(
  trx: Transaction<Schema>,
  seqs: readonly number[],
): Promise<Map<number, ClaimedNetwork>> {
  const rows = await trx
    .selectFrom("submission_networks")
    .select(["submission_seq", "network", "leased_up", "leased_down"])
    .where("submission_seq", "in", seqs)
    .execute();
  return new Map(
    rows.map(({ submission_seq, network, leased_up, leased_down }) => [
      submission_seq,
      { policy: toPolicy(network), leased: { up: leased_up, down: leased_down } },
    ]),
  );
}

/** Stores what the run of a submission has reached. What is stored already stays. */
export async function storeEgress(trx: Transaction<Schema>, id: string, egress: EgressRecord): Promise<void> {
  const seq = trx.selectFrom("submissions").select("seq").where("id", "=", id);
  await trx
    .updateTable("submission_networks")
    .set({ egress: JSON.stringify(egress) })
    .where("submission_seq", "=", seq)
    .where("egress", "is", null)
    .execute();
}

/**
 * @param admit awaited with the size of what was reached before that is read.
 * @returns null for a submission without a network; undefined if the account has no such submission.
 */
export async function readNetwork(
  db: Kysely<Schema>,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  admit?: ReserveMemory,
): Promise<SubmissionNetwork | null | undefined> {
  if (id.includes("\0")) return undefined; // PostgreSQL rejects such texts
  const row = await db
    .selectFrom("submissions")
    .leftJoin("submission_networks", "submission_networks.submission_seq", "submissions.seq")
    .select(["submissions.seq", "network", sql<number | null>`length(egress)`.as("bytes")])
    .where("submissions.id", "=", id)
    .where("submissions.account_id", "=", accountId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { seq, network, bytes } = row;
  if (network === null) return null;
  if (bytes === null) return { policy: toPolicy(network), egress: null };
  await admit?.(bytes);
  const stored = await db
    .selectFrom("submission_networks")
    .select("egress")
    .where("submission_seq", "=", seq)
    .executeTakeFirst();
  const egress = stored?.egress ?? null; // retention can have deleted it
  return { policy: toPolicy(network), egress: egress === null ? null : (JSON.parse(egress) as EgressRecord) };
}

/** The policy in a row. */
export function toPolicy(network: string): NetworkPolicy {
  return fromNetworkJson(JSON.parse(network));
}
