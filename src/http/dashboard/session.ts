import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AuditActor } from "../../domain/audit.ts";
import { clientError } from "../../domain/error.ts";
import { hashToken, hasTokenForm, newToken } from "../../domain/session.ts";
import { MinuteBudget } from "../../fairness/minute-budget.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import type { SessionPerson } from "../../store/people/types.ts";
import { ownerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { network } from "../listener/network.ts";
import { Cookies } from "./cookie.ts";
import { checkSameOrigin } from "./same-origin.ts";

/**
 * Requests per minute of each person, and of each address without a session: an open page polls every few seconds.
 * Anonymous requests never count against a person, because many people share an address.
 */
const REQUESTS_PER_MINUTE = 1_200;

/** The session that a route needs. `page`: none, and a session makes no difference. */
export type Needed = "page" | "none" | "member" | "administrator";

/** The person of a valid session. */
export type SignedIn = SessionPerson;

declare module "fastify" {
  interface FastifyRequest {
    /** Set on dashboard routes once the session has been validated. */
    person: SignedIn | null;
    /** Hash of the token of that session. */
    sessionHash: string | null;
  }
  interface FastifyContextConfig {
    /** Marks a dashboard route: no key, but a session of at least this rank. */
    session?: Needed;
  }
}

/** Finds the person of a request by its cookie, for all dashboard routes. Begins and ends sessions. */
export class SessionGuard {
  readonly #store: Dependencies["store"];
  readonly cookies: Cookies;
  readonly #requests = new MinuteBudget();
  readonly #lookUps = new WorkTurns({ atOnce: { perOwner: 1 } });

  /** @param secure whether clients use HTTPS. */
  constructor({ store }: Pick<Dependencies, "store">, secure: boolean) {
    this.#store = store;
    this.cookies = new Cookies(secure);
  }

  decorate(server: FastifyInstance): void {
    server.decorateRequest("person", null);
    server.decorateRequest("sessionHash", null);
  }

  /** @throws ClientError tooManyRequests, foreignOrigin, signInNeeded or notAllowed. */
  async check(request: FastifyRequest, needed: Needed): Promise<void> {
    if (needed === "page") return this.bound(request);
    await this.#findPerson(request);
    this.bound(request);
    checkSameOrigin(request);
    if (needed === "none") return;
    if (!request.person) throw clientError("signInNeeded", []);
    if (needed === "administrator" && !request.person.administrator) throw clientError("notAllowed", []);
  }

  /** Whether an unknown path is below the dashboard; such a request needs no key. */
  isBelow({ url }: Pick<FastifyRequest, "url">): boolean {
    return url.startsWith("/dashboard/");
  }

  /**
   * For an address over its limit, sessions are looked up one at a time, so that guesses do not overload the database.
   */
  async #findPerson(request: FastifyRequest): Promise<void> {
    const token = this.cookies.read(request, "session");
    if (token === undefined || !hasTokenForm(token)) return;
    const hash = hashToken(token);
    const from = ownerOf({ caller: null, person: null, ip: request.ip });
    const isFull = this.#requests.isFull(from, REQUESTS_PER_MINUTE);
    const find = () => this.#store.sessions.find(hash);
    // Skips the lookup for clients that have disconnected, so that they do not delay those behind them.
    const findIfConnected = async () => (request.raw.socket.destroyed ? undefined : await find());
    const person = await (isFull ? this.#lookUps.run(from, findIfConnected) : find());
    if (person) Object.assign(request, { person, sessionHash: hash });
  }

  /** @throws ClientError tooManyRequests. */
  bound(request: FastifyRequest): void {
    const retryAfter = this.#requests.take(ownerOf(request), REQUESTS_PER_MINUTE);
    if (retryAfter > 0) throw clientError("tooManyRequests", [], { headers: { "retry-after": String(retryAfter) } });
  }

  /** Always begins a new session and ignores the cookie, against session fixation. */
  async begin(request: FastifyRequest, reply: FastifyReply, personId: string): Promise<void> {
    const { token, hash } = newToken();
    if (request.sessionHash) await this.#store.sessions.end(request.sessionHash, request.ip);
    await this.#store.sessions.begin(hash, personId, { address: request.ip, network: network(request.ip) });
    this.cookies.set(reply, "session", token);
    const person = (await this.#store.sessions.find(hash)) ?? null;
    Object.assign(request, { person, sessionHash: hash });
  }

  async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.sessionHash) await this.#store.sessions.end(request.sessionHash, request.ip);
    this.cookies.clear(reply, "session");
    Object.assign(request, { person: null, sessionHash: null });
  }
}

/** @throws when the route needs no session: a programming error. */
export function personOf(request: FastifyRequest): SignedIn {
  if (!request.person) throw new Error("a handler ran without a session");
  return request.person;
}

/** The author of the changes that the request makes, for the audit trail. @throws as `personOf`. */
export function actorOf(request: FastifyRequest): AuditActor {
  return { name: personOf(request).email, address: request.ip };
}

/** Whether the person may see what belongs to an account. Hidden items get `notFound`, like items that do not exist. */
export function maySee({ accountIds }: SignedIn, accountId: string): boolean {
  return accountIds === null || accountIds.includes(accountId);
}
