import type { FastifyInstance } from "fastify";
import { callerOf } from "../caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../gone.ts";
import { type LongAnswers, noRoom } from "../long-answers.ts";
import { ownerOf } from "../owner.ts";
import { Room } from "../room.ts";
import { Watching } from "../run-events.ts";
import { acceptWebSocket } from "../upgrade.ts";
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
  const places = new Room(MAX_ALL_SESSIONS, 0);
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
