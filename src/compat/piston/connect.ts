import type { FastifyInstance } from "fastify";
import { acceptWebSocket } from "../../http/listener/upgrade.ts";
import type { Services } from "../../http/route.ts";
import { PISTON_CONNECT } from "./conventions.ts";
import { PistonSession } from "./session.ts";

/** GET /piston/api/v2/connect: a WebSocket by which a client sends input to a program and gets its output while it runs. */
export function connectRoute(server: FastifyInstance, { dependencies, answers, sockets, stopping }: Services): void {
  server.get(PISTON_CONNECT, { config: { submits: true } }, async (request, reply) => {
    sockets.open(request, reply);
    const socket = await acceptWebSocket(request, reply);
    if (socket) new PistonSession(socket, request, reply, dependencies, answers, stopping).begin();
    return reply;
  });
}
