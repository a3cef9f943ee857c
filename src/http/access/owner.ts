import type { FastifyRequest } from "fastify";
import { network } from "../listener/network.ts";

/** The owner charged for a request: an account, a signed-in person, or else an address. */
export function ownerOf({ caller, person, ip }: Pick<FastifyRequest, "caller" | "person" | "ip">): string {
  if (caller) return `account ${caller.accountId}`;
  return person ? `person ${person.id}` : `address ${network(ip)}`;
}
