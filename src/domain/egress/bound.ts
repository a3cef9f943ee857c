import { z } from "zod";
import {
  type NetworkPolicy,
  networkPolicySchema,
  PolicyError,
  parseNetworkPolicy,
  toNetworkJson,
  whyNotNarrower,
} from "./policy.ts";

/*
 * What an operator permits at most: the network bound of an account, and of a project within that of its account. A sandbox can only narrow it. An account
 * without a bound has no network, and a project without one has that of its account.
 */

export interface NetworkBound {
  /** What the policy of each sandbox must be within. */
  readonly policy: NetworkPolicy;
  /** The bytes of all sandboxes of the account or project together on one day (UTC); null: there is no such bound. */
  readonly upPerDay: number | null;
  readonly downPerDay: number | null;
}

/** The most bytes of a day that a bound can say. */
export const MOST_BYTES_PER_DAY = 2 ** 50;

const perDay = (direction: string) =>
  z
    .int()
    .min(0)
    .max(MOST_BYTES_PER_DAY)
    .nullable()
    .describe(
      `Bytes that all sandboxes together may ${direction} on one day (UTC), from 0 to ${MOST_BYTES_PER_DAY}; null for no such bound`,
    );

export const networkBoundSchema = z.strictObject({
  policy: networkPolicySchema.describe("What the policy of each sandbox must be within"),
  bytes_up_per_day: perDay("send"),
  bytes_down_per_day: perDay("receive"),
});
export type NetworkBoundJson = z.output<typeof networkBoundSchema>;

const days = networkBoundSchema.pick({ bytes_up_per_day: true, bytes_down_per_day: true }).partial();

export function toBoundJson({ policy, upPerDay, downPerDay }: NetworkBound): NetworkBoundJson {
  return { policy: toNetworkJson(policy), bytes_up_per_day: upPerDay, bytes_down_per_day: downPerDay };
}

/**
 * Parses a bound. @param value JSON, in which the bounds of a day can be absent. @param upper the bound of the account of a project, as of `parseNetworkPolicy`.
 * @throws PolicyError, whose path begins with a field of the bound.
 */
export function parseNetworkBound(value: unknown, upper: NetworkPolicy | null = null): NetworkBound {
  if (typeof value !== "object" || value === null || Array.isArray(value) || !("policy" in value))
    throw new PolicyError("", 'must be an object with the field "policy"');
  const { policy, ...others } = value;
  const { success, data, error } = days.safeParse(others);
  if (!success) {
    const [issue] = error.issues;
    throw new PolicyError(issue?.path.join(".") ?? "", issue?.message ?? "is not valid");
  }
  return {
    policy: policyOf(policy, upper),
    upPerDay: data.bytes_up_per_day ?? null,
    downPerDay: data.bytes_down_per_day ?? null,
  };
}

function policyOf(value: unknown, upper: NetworkPolicy | null): NetworkPolicy {
  try {
    return parseNetworkPolicy(value, upper);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new PolicyError(["policy", error.path].filter((part) => part !== "").join("."), error.reason);
  }
}

/** Why the bound of a project is not within that of its account; null if it is. */
export function whyBeyondAccount(account: NetworkBound, project: NetworkBound): string | null {
  const why = whyNotNarrower(account.policy, project.policy);
  if (why !== null) return why;
  for (const [field, of] of [
    ["bytes_up_per_day", "upPerDay"],
    ["bytes_down_per_day", "downPerDay"],
  ] as const) {
    const most = account[of];
    if (most !== null && (project[of] ?? 0) > most) return `${field} is above that of the account, which is ${most}`;
  }
  return null;
}

/** The day of a time, in UTC: `2026-11-30`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
