import type { NetworkPolicyJson } from "../../../src/http/dashboard/api/network.ts";

export type OpenPolicy = Exclude<NetworkPolicyJson, "none">;

/** How a rule is named: by its host or network. */
export function ruleName({ host, cidr }: OpenPolicy["allow"][number]): string {
  return host ?? cidr ?? "";
}
