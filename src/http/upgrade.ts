import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { clientError } from "../domain/error.ts";

/** The largest message of a client: files and source of a program in base64. */
const MAX_MESSAGE_BYTES = 2 * 1_048_576;

interface Upgrade {
  readonly socket: Duplex;
  /** What the client sent after its request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();
const webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES });

/** Any other upgrade is ignored, as HTTP permits: the request is answered as an ordinary one. */
export function isWebSocketRequest({ method, headers: { upgrade } }: IncomingMessage): boolean {
  return method === "GET" && upgrade?.toLowerCase() === "websocket";
}

/** Passes requests for a WebSocket through the same steps as all others, to a route that calls `acceptWebSocket`. */
export function routeUpgrades(server: FastifyInstance): void {
  server.server.on("upgrade", (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node has removed its own listener.
    socket.on("error", () => socket.destroy());
    const response = new ServerResponse(raw);
    try {
      response.assignSocket(raw.socket);
    } catch {
      // The request was sent before the response to the one before it: browsers and clients never do that.
      socket.destroy();
      return;
    }
    upgrades.set(raw, { socket, head });
    response.shouldKeepAlive = false;
    response.once("finish", () => socket.end());
    server.routing(raw, response);
  });
}

/** Sends `101`. The close of the connection closes `reply.raw`. @throws ClientError upgradeRequired. */
export async function acceptWebSocket({ raw }: FastifyRequest, reply: FastifyReply): Promise<WebSocket> {
  const upgrade = upgrades.get(raw);
  if (!upgrade) throw clientError("upgradeRequired", [], { headers: { upgrade: "websocket", connection: "upgrade" } });
  const { socket, head } = upgrade;
  reply.hijack();
  reply.raw.detachSocket(raw.socket);
  raw.socket.setTimeout(0);
  socket.once("close", () => reply.raw.emit("close"));
  return await new Promise((resolve) => webSockets.handleUpgrade(raw, socket, head, resolve));
}
