import type { FastifyInstance } from "fastify";
import { ByteBudget } from "../../fairness/byte-budget.ts";
import { callerOf } from "../access/caller.ts";
import { ownerOf } from "../access/owner.ts";
import { Watching } from "../api/sse-output.ts";
import type { Dependencies } from "../dependencies.ts";
import { acceptWebSocket } from "../listener/upgrade.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { type LongAnswers, noRoom } from "../responses/long-answers.ts";
import { PISTON_CONNECT } from "./form.ts";
import { Session } from "./session.ts";

/** Programs that an account can talk with at once. */
const MAX_SESSIONS = 8;
/** The same of all accounts, each with at most as many as then remain: each keeps a message of up to 2 MiB. */
const MAX_ALL_SESSIONS = 128;

/** GET /piston/api/v2/connect: a WebSocket on which a client talks with a program while it runs. */
export function connectRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const watching = new Watching(MAX_SESSIONS);
  const places = new ByteBudget(MAX_ALL_SESSIONS, 0);
  server.get(PISTON_CONNECT, { config: { submits: true } }, async (request, reply) => {
    watching.enter(callerOf(request).accountId, reply);
    const leave = await places.take(ownerOf(request), 1, disconnected(reply));
    if (!leave) throw noRoom(request);
    disconnected(reply).addEventListener("abort", leave, { once: true });
    if (disconnected(reply).aborted) leave();
    const socket = await acceptWebSocket(request, reply);
    if (socket) new Session(socket, request, reply, dependencies, answers, stopping).begin();
    return reply;
  });
}
