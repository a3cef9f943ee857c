import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { PendingSignIn, Provider, VerifiedIdentity } from "./provider.ts";
import { API, type DashboardRoute, type DashboardServices, dashboardRoute } from "./route.ts";

/** The path to which the provider sends the browser back. */
const CALLBACK = "/provider/callback";
/** The page to which a person returns if sign-in failed. It displays the reasons that are possible. */
const REFUSED = "/dashboard/sign-in?refused=provider";

/**
 * Sign-in with the OpenID Connect provider: the browser is redirected to the provider, and from there back with a code. Only existing and
 * invited people are signed in; others are redirected to REFUSED.
 */
export const providerRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/provider",
    session: "none",
    handler:
      (services) =>
      async ({ request, reply }) => {
        const provider = known(services);
        const begun = await orUndefined(() => provider.begin(originOf(request) + API + CALLBACK), services);
        if (!begun) return reply.redirect(REFUSED, 303);
        services.sessions.cookies.set(
          reply,
          "provider",
          Buffer.from(JSON.stringify(begun.pending)).toString("base64url"),
        );
        return reply.redirect(begun.url.href, 303);
      },
  }),
  dashboardRoute({
    method: "get",
    path: CALLBACK,
    session: "none",
    handler:
      (services) =>
      async ({ request, reply }) => {
        const {
          dependencies: { store },
          sessions,
        } = services;
        const identity = await identityOf(request, services);
        const personId = identity && (await store.people.enterWithProvider(identity, request.ip));
        sessions.cookies.clear(reply, "provider");
        if (personId === undefined) return reply.redirect(REFUSED, 303);
        await sessions.begin(request, reply, personId);
        return reply.redirect("/dashboard/", 303);
      },
  }),
];

/** @throws ClientError notFound if there is no provider. */
function known({ provider }: DashboardServices): Provider {
  if (!provider) throw clientError("notFound", []);
  return provider;
}

async function identityOf(request: FastifyRequest, services: DashboardServices): Promise<VerifiedIdentity | undefined> {
  const provider = known(services);
  const pending = readPending(services.sessions.cookies.read(request, "provider"));
  if (!pending) return undefined;
  return await orUndefined(() => provider.finish(new URL(request.url, originOf(request)), pending), services);
}

/** Undefined if the provider did not respond, or if its response is not valid. Only the log contains the reason. */
async function orUndefined<T>(
  ask: () => Promise<T>,
  { dependencies: { log } }: DashboardServices,
): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    log.warn({ code, reason: message }, "sign-in by the provider failed");
    return undefined;
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
