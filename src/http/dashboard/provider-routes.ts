import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { clientError } from "../../domain/error.ts";
import type { PendingSignIn, Provider, VerifiedIdentity } from "./provider.ts";
import type { SignInContext } from "./sign-in.ts";

const BEGIN = "/dashboard/api/provider";
const CALLBACK = `${BEGIN}/callback`;
/** The page to which a person returns if sign-in failed. It displays the reasons that are possible. */
const REFUSED = "/dashboard/sign-in?refused=provider";

/**
 * Sign-in with the OpenID Connect provider: the browser is redirected to the provider, and from there back with a code. Only existing and
 * invited people are signed in; others are redirected to REFUSED.
 */
export function providerRoutes(
  server: FastifyInstance,
  { store, sessions, provider }: SignInContext,
  log: Logger,
): void {
  const config = { session: "none" } as const;

  server.get(BEGIN, { config }, async (request, reply) => {
    const asked = known();
    const begun = await orUndefined(() => asked.begin(originOf(request) + CALLBACK));
    if (!begun) return reply.redirect(REFUSED, 303);
    sessions.cookies.set(reply, "provider", Buffer.from(JSON.stringify(begun.pending)).toString("base64url"));
    return reply.redirect(begun.url.href, 303);
  });

  server.get(CALLBACK, { config }, async (request, reply) => {
    const identity = await identityOf(request, known());
    const personId = identity && (await store.people.enterWithProvider(identity, request.ip));
    sessions.cookies.clear(reply, "provider");
    if (personId === undefined) return reply.redirect(REFUSED, 303);
    await sessions.begin(request, reply, personId);
    return reply.redirect("/dashboard/", 303);
  });

  function known(): Provider {
    if (!provider) throw clientError("notFound", []);
    return provider;
  }

  async function identityOf(request: FastifyRequest, asked: Provider): Promise<VerifiedIdentity | undefined> {
    const pending = readPending(sessions.cookies.read(request, "provider"));
    return pending && (await orUndefined(() => asked.finish(new URL(request.url, originOf(request)), pending)));
  }

  /** Undefined if the provider did not respond, or if its response is not valid. Only the log contains the reason. */
  async function orUndefined<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      const { code, message } = error as { code?: string; message?: string };
      log.warn({ code, reason: message }, "sign-in by the provider failed");
      return undefined;
    }
  }
}

function originOf(request: FastifyRequest): string {
  return `${request.protocol}://${request.host}`;
}

function readPending(cookie: string | undefined): PendingSignIn | undefined {
  try {
    const pending = JSON.parse(Buffer.from(cookie ?? "", "base64url").toString("utf8")) as Partial<PendingSignIn>;
    const { state, nonce, verifier } = pending;
    if (typeof state !== "string" || typeof nonce !== "string" || typeof verifier !== "string") return undefined;
    return { state, nonce, verifier };
  } catch {
    return undefined;
  }
}
