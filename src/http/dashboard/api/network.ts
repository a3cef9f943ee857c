/**
 * What the operator permits sandboxes to reach, and what they reached. GET /projects/:id/network and GET /accounts/:id/network → Network. PUT
 * (the JSON of NetworkBound in src/domain/egress/bound.ts) and DELETE of the same paths → Network; for an account, these are only for administrators.
 * GET /projects/:id/hosts and GET /accounts/:id/hosts → Hosts, with ?decision&from&to&after&limit.
 */
export type { HostsView as Hosts, NetworkView as Network } from "../../../admin/network.ts";
