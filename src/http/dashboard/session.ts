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
 * Requests per minute of each person, and of each network without a session. An open page polls every few seconds.
 * Requests without a session never count against a person, because many people can share a network.
 */
const REQUESTS_PER_MINUTE = 1_200;

/** The session that a route needs. With `none`, the route needs no session, but knows the person if there is one. With `page`, it does not. */
export type Needed = "page" | "none" | "member" | "administrator";

/** The person of a valid session. */
export type SignedIn = SessionPerson;

declare module "fastify" {
  interface FastifyRequest {
    /** The person who is signed in, on routes of the dashboard; null without a valid session. */
    person: SignedIn | null;
    /** Hash of the token of the person's session. */
    sessionHash: string | null;
  }
  interface FastifyContextConfig {
    /** Marks a route of the dashboard, which needs no key, but a session of at least this rank. */
    session?: Needed;
  }
}

/** Finds the person of a request by the cookie, for all routes of the dashboard. Begins and ends sessions. */
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

  /** Whether a path is below the dashboard. A request for an unknown path there gets 404 even without a key. */
  isBelow({ url }: Pick<FastifyRequest, "url">): boolean {
    return url.startsWith("/dashboard/");
  }

  /**
   * For a network that has reached REQUESTS_PER_MINUTE without a session, sessions are looked up one at a time, so that guesses do not
   * overload the database.
   */
  async #findPerson(request: FastifyRequest): Promise<void> {
    const token = this.cookies.read(request, "session");
    if (token === undefined || !hasTokenForm(token)) return;
    const hash = hashToken(token);
    const from = ownerOf({ caller: null, person: null, ip: request.ip });
    const isFull = this.#requests.isFull(from, REQUESTS_PER_MINUTE);
    const find = () => this.#store.sessions.find(hash);
    // Skips the lookup for a client that has disconnected, so that it does not delay the clients that wait behind it.
    const findIfConnected = async () => (request.raw.socket.destroyed ? undefined : await find());
    const person = await (isFull ? this.#lookUps.run(from, findIfConnected) : find());
    if (person) Object.assign(request, { person, sessionHash: hash });
  }

  /** Counts the request against REQUESTS_PER_MINUTE. @throws ClientError tooManyRequests. */
  bound(request: FastifyRequest): void {
    const retryAfter = this.#requests.take(ownerOf(request), REQUESTS_PER_MINUTE);
    if (retryAfter > 0) throw clientError("tooManyRequests", [], { headers: { "retry-after": String(retryAfter) } });
  }

  /** Begins a new session and ends that of the request, so that an attacker cannot make a person use a session that the attacker knows. */
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

/** @throws if nobody is signed in, which is a programming error: the route must need a session. */
export function personOf(request: FastifyRequest): SignedIn {
  if (!request.person) throw new Error("a handler ran without a session");
  return request.person;
}

/** Who makes the changes of the request, for the audit trail. @throws as personOf() does. */
export function actorOf(request: FastifyRequest): AuditActor {
  return { name: personOf(request).email, address: request.ip };
}

/** Whether the person may see what belongs to an account. A request for anything else gets `notFound`, as if it did not exist. */
export function maySee({ accountIds }: SignedIn, accountId: string): boolean {
  return accountIds === null || accountIds.includes(accountId);
}
