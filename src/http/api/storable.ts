import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Members of the body that are stored as bytes, so they may contain U+0000. The route checks them instead of checkStorable(). */
    bytes?: readonly string[];
  }
}

/** Whether both databases can store the text: PostgreSQL accepts neither U+0000 nor unpaired surrogates. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/**
 * Rejects text that a database cannot store, in the path, the query and the body. A path or a query can contain such text
 * percent-encoded, and JSON can contain it as \u0000. An archive, and a body that is passed on while it arrives, are not checked.
 * @throws ClientError invalidRequest, which names the part and does not echo it.
 */
export function checkStorable({ params, query, body, routeOptions }: FastifyRequest): void {
  const bytes = routeOptions.config.bytes ?? [];
  const isChecked = !Buffer.isBuffer(body) && !routeOptions.config.streams;
  const parts = { "the path": params, "the query": query, "the body": isChecked ? body : null } as const;
  for (const [part, value] of Object.entries(parts)) {
    if (!isAllStorable(value, part === "the body" ? bytes : [])) {
      throw clientError("invalidRequest", [part, "has U+0000 or half of a surrogate pair, which cannot be stored"]);
    }
  }
}

/** Uses a list of the values that are left, not recursion, so that no depth of nesting exceeds the stack. */
function isAllStorable(whole: unknown, bytes: readonly string[]): boolean {
  const left: unknown[] = [whole];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === "string" && !isStorable(value)) return false;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (value === whole && bytes.includes(name)) continue;
      left.push(name, member);
    }
  }
  return true;
}
