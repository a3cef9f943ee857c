/**
 * What the operator permits sandboxes to reach, and what they reached. GET /projects/:id/network and GET /accounts/:id/network → Network. PUT
 * (NetworkBound) and DELETE of the same paths → Network; for an account, these are only for administrators. GET /projects/:id/hosts and
 * GET /accounts/:id/hosts → Hosts, with ?decision&from&to&after&limit.
 */
export type { HostsView as Hosts, NetworkView as Network } from "../../../admin/network.ts";
export type { NetworkBoundJson as NetworkBound } from "../../../domain/egress/bound.ts";
