import type { AuditActor } from "../domain/audit.ts";
import type { Tier } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { checkLimits, checkName } from "./rules.ts";

export function listTiers(store: Store): Promise<Tier[]> {
  return store.tiers.list();
}

/**
 * Creates or changes a tier. A change holds at once for all accounts that have the tier. @throws AdminError if the name is
 * invalid or a value is out of range.
 */
export async function setTier(store: Store, tier: Tier, actor: AuditActor): Promise<Tier> {
  checkName(tier.name);
  checkLimits(tier);
  await store.tiers.set(tier, actor);
  return tier;
}
