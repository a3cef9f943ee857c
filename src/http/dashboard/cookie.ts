import type { FastifyReply, FastifyRequest } from "fastify";
import { SESSION_LONGEST_MS } from "../../domain/session.ts";

/** Time limit for signing in at the provider. */
const PROVIDER_SECONDS = 600;

const COOKIES = {
  session: { name: "assay", seconds: SESSION_LONGEST_MS / 1000 },
  provider: { name: "assay-provider", seconds: PROVIDER_SECONDS },
} as const;

type CookieName = keyof typeof COOKIES;

/**
 * The dashboard's cookies. Because of the prefix `__Host-`, a browser accepts such a cookie only from this host, not from a subdomain or
 * another host, and only over HTTPS. On loopback without TLS, not every browser keeps a Secure cookie, so the name has no prefix there.
 */
export class Cookies {
  readonly #secure: boolean;

  constructor(secure: boolean) {
    this.#secure = secure;
  }

  /** Undefined if the cookie is absent, or if there are several of this name, because another party has then set one of them. */
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

  /** SameSite is Lax, not Strict: a person who follows a link to the dashboard, or returns from the provider, must be signed in. */
  #write(reply: FastifyReply, cookie: CookieName, value: string, seconds: number): void {
    const secure = this.#secure ? "; Secure" : "";
    const attributes = `Path=/; HttpOnly; SameSite=Lax${secure}; Max-Age=${seconds}`;
    reply.header("set-cookie", `${this.#name(cookie)}=${value}; ${attributes}`);
  }
}
