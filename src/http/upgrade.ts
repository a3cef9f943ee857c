import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { clientError } from "../domain/error.ts";

/** The largest message of a client, of which a connection keeps one: files and source of a program in base64. */
const MAX_MESSAGE_BYTES = 2 * 1_048_576;

interface Upgrade {
  readonly socket: Duplex;
  /** What the client sent after its request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();
/** `ws` keeps each fragment and each piece that arrives as a buffer of its own, also an empty or short one. */
const MAX_PARTS = { maxFragments: 2_048, maxBufferedChunks: 32_768 };

/** Pings and pongs of a client in an interval: clients send one in some seconds. One turn of the event loop reads thousands. */
const [MAX_CONTROLS, CONTROLS_MS] = [100, 10_000];

const webSockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  autoPong: false,
  ...MAX_PARTS,
});

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

/**
 * Sends `101`. The close of the connection closes `reply.raw`.
 * @throws ClientError upgradeRequired, or foreignOrigin: a browser sends a key that it knows with the requests of any page.
 */
export async function acceptWebSocket(request: FastifyRequest, reply: FastifyReply): Promise<WebSocket> {
  const { raw } = request;
  const { origin } = raw.headers;
  if (origin !== undefined && origin !== `${request.protocol}://${request.host}`)
    throw clientError("foreignOrigin", []);
  const upgrade = upgrades.get(raw);
  if (!upgrade) throw clientError("upgradeRequired", [], { headers: { upgrade: "websocket", connection: "upgrade" } });
  const { socket, head } = upgrade;
  reply.hijack();
  raw.socket.setTimeout(0);
  return await new Promise((resolve) =>
    webSockets.handleUpgrade(raw, socket, head, (accepted) => {
      answerPings(accepted);
      resolve(accepted);
    }),
  );
}

/** A client that does not read its pongs, or sends too many frames that no other limit counts, is disconnected. */
function answerPings(socket: WebSocket): void {
  let [count, sinceMs] = [0, performance.now()];
  const isAllowed = () => {
    const nowMs = performance.now();
    if (nowMs - sinceMs > CONTROLS_MS) [count, sinceMs] = [0, nowMs];
    if (++count <= MAX_CONTROLS) return true;
    socket.terminate();
    return false;
  };
  socket.on("ping", (data) => {
    if (isAllowed()) socket.pong(data);
  });
  socket.on("pong", isAllowed);
}
