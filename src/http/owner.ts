import type { FastifyRequest } from "fastify";
import { network } from "./network.ts";

/** Who is charged for what a request takes of the service: an account, a signed-in person, or else an address. */
export function ownerOf({ caller, person, ip }: Pick<FastifyRequest, "caller" | "person" | "ip">): string {
  if (caller) return `account ${caller.accountId}`;
  return person ? `person ${person.id}` : `address ${network(ip)}`;
}
