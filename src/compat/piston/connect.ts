import type { FastifyInstance } from "fastify";
import { Budget } from "../../fairness/budget.ts";
import { callerOf, ownerOf } from "../../http/access/caller.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { acceptWebSocket } from "../../http/listener/upgrade.ts";
import { disconnected } from "../../http/responses/client-disconnect.ts";
import { type LongAnswers, noRoom } from "../../http/responses/long-answers.ts";
import { StreamBudget } from "../../http/responses/stream-budget.ts";
import { PISTON_CONNECT } from "./conventions.ts";
import { Session } from "./session.ts";

/** The most sessions that an account can have open at once. */
const MAX_SESSIONS = 8;
/** The most sessions of all accounts together. They are bounded, because each session keeps a message of up to 2 MiB. */
const MAX_ALL_SESSIONS = 128;

/** GET /piston/api/v2/connect: a WebSocket by which a client sends input to a program and gets its output while it runs. */
export function connectRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const ofAccount = new StreamBudget(MAX_SESSIONS);
  const ofAll = new Budget({ total: MAX_ALL_SESSIONS, perOwner: "shared" });
  server.get(PISTON_CONNECT, { config: { submits: true } }, async (request, reply) => {
    ofAccount.open(callerOf(request).accountId, reply);
    const release = ofAll.take(ownerOf(request), 1);
    if (!release) throw noRoom(request);
    disconnected(reply).addEventListener("abort", release, { once: true });
    if (disconnected(reply).aborted) release();
    const socket = await acceptWebSocket(request, reply);
    if (socket) new Session(socket, request, reply, dependencies, answers, stopping).begin();
    return reply;
  });
}
