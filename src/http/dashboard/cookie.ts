import type { FastifyReply, FastifyRequest } from "fastify";
import { SESSION_LONGEST_MS } from "../../domain/session.ts";

/**
 * The session's cookie. `__Host-` makes a browser refuse it from any other host, a subdomain included, and over plain HTTP;
 * on loopback without TLS no browser would keep a Secure one everywhere, so there it is a plain name.
 */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;

  constructor(secure: boolean) {
    this.#name = secure ? "__Host-assay" : "assay";
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  }

  /** Undefined when there is none, or more than one: then somebody else put one there. */
  read(request: FastifyRequest): string | undefined {
    return readCookie(request, this.#name);
  }

  set(reply: FastifyReply, token: string): void {
    const seconds = Math.floor(SESSION_LONGEST_MS / 1000);
    reply.header("set-cookie", `${this.#name}=${token}; ${this.#attributes}; Max-Age=${seconds}`);
  }

  clear(reply: FastifyReply): void {
    reply.header("set-cookie", `${this.#name}=; ${this.#attributes}; Max-Age=0`);
  }
}

/** @returns undefined when there is none of that name, or more than one. */
function readCookie(request: FastifyRequest, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  const [value, ...others] = pairs.filter((pair) => pair.startsWith(`${name}=`));
  return others.length === 0 ? value?.slice(name.length + 1) : undefined;
}
