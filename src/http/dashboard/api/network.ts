import type { NetworkBoundJson } from "../../../domain/egress/bound.ts";

/**
 * What operators permit sandboxes to reach, and what they reached. GET /projects/:id/network and GET /accounts/:id/network → Network. PUT
 * (NetworkBound) and DELETE of the same paths → Network; for an account, these are only for administrators. GET /projects/:id/hosts and
 * GET /accounts/:id/hosts → Hosts, with ?decision&from&to&after&limit. GET /projects/:id/egress and GET /accounts/:id/egress → Totals, with ?from&to.
 */
export type { HostsView as Hosts, NetworkView as Network, TotalsView as Totals } from "../../../admin/network.ts";
export type { NetworkBoundJson as NetworkBound } from "../../../domain/egress/bound.ts";
export type NetworkPolicyJson = NetworkBoundJson["policy"];

/** GET /accounts/:id/bounds → ProjectBounds: the projects of an account that have a bound of their own, by name. */
export type ProjectBounds = readonly ProjectBound[];

export interface ProjectBound {
  readonly project: { readonly id: string; readonly name: string };
  readonly policy: NetworkPolicyJson;
  readonly version: number;
  readonly changedAt: string;
}
