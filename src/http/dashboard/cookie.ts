import type { FastifyReply, FastifyRequest } from "fastify";
import { SESSION_LONGEST_MS } from "../../domain/session.ts";

/** How long somebody may take at the provider. */
const PROVIDER_SECONDS = 600;

const COOKIES = {
  session: { name: "assay", seconds: SESSION_LONGEST_MS / 1000 },
  provider: { name: "assay-provider", seconds: PROVIDER_SECONDS },
} as const;

type CookieName = keyof typeof COOKIES;

/**
 * The dashboard's cookies. `__Host-` makes a browser refuse one from any other host, a subdomain included, and over plain HTTP;
 * on loopback without TLS not every browser keeps a Secure one, so there it is a plain name.
 */
export class Cookies {
  readonly #secure: boolean;

  constructor(secure: boolean) {
    this.#secure = secure;
  }

  /** Undefined when there is none, or more than one: then somebody else put one there. */
  read(request: FastifyRequest, cookie: CookieName): string | undefined {
    const begin = `${this.#name(cookie)}=`;
    const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
    const [value, ...others] = pairs.filter((pair) => pair.startsWith(begin));
    return others.length === 0 ? value?.slice(begin.length) : undefined;
  }

  set(reply: FastifyReply, cookie: CookieName, value: string): void {
    this.#write(reply, cookie, value, COOKIES[cookie].seconds);
  }

  clear(reply: FastifyReply, cookie: CookieName): void {
    this.#write(reply, cookie, "", 0);
  }

  #name(cookie: CookieName): string {
    return `${this.#secure ? "__Host-" : ""}${COOKIES[cookie].name}`;
  }

  /** Lax, not Strict: who follows a link to the dashboard, or comes back from the provider, is signed in. */
  #write(reply: FastifyReply, cookie: CookieName, value: string, seconds: number): void {
    const secure = this.#secure ? "; Secure" : "";
    const attributes = `Path=/; HttpOnly; SameSite=Lax${secure}; Max-Age=${seconds}`;
    reply.header("set-cookie", `${this.#name(cookie)}=${value}; ${attributes}`);
  }
}
