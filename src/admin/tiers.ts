import type { AuditActor } from "../domain/audit.ts";
import type { SandboxAllowance } from "../domain/sandboxes/allowance.ts";
import type { Tier } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { checkAllowance, checkLimits, checkName } from "./rules.ts";

export function listTiers(store: Store): Promise<(Tier & SandboxAllowance)[]> {
  return store.tiers.list();
}

/**
 * Creates or changes a tier. A change holds at once for all accounts that have the tier. @throws AdminError if the name is
 * invalid or a value is out of range.
 */
export async function setTier<T extends Tier & Partial<SandboxAllowance>>(
  store: Store,
  tier: T,
  actor: AuditActor,
): Promise<T> {
  checkName(tier.name);
  checkLimits(tier);
  checkAllowance(tier);
  await store.tiers.set(tier, actor);
  return tier;
}
