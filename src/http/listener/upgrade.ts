import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { clientError } from "../../domain/error.ts";
import { withoutLastSlash } from "../compatibility.ts";
import { PISTON_CONNECT } from "../piston/conventions.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { linger } from "../responses/linger.ts";
import { countRequest } from "./burst-guard.ts";

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

/** The time limit of the answer to a request for a WebSocket. No step on its way takes as long. */
const ANSWER_MS = 30_000;

const webSockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  autoPong: false,
  // One message is handled in a turn of the event loop: a read of 64 KiB can have 10,900 empty ones.
  allowSynchronousEvents: false,
  ...MAX_PARTS,
});

/** Any other upgrade is ignored, as HTTP permits: the request is answered as an ordinary one, with Node's limits on its connection. */
export function isWebSocketRequest({ method, url = "", headers: { upgrade } }: IncomingMessage): boolean {
  const [path = ""] = withoutLastSlash(url).split("?", 1);
  return method === "GET" && upgrade?.toLowerCase() === "websocket" && path === PISTON_CONNECT;
}

/**
 * Passes requests for a WebSocket through the same steps as all others, to a route that calls `acceptWebSocket`. From the upgrade on,
 * Node neither reads the connection, so that it would notice the end of the client, nor limits its time.
 */
export function routeUpgrades(server: FastifyInstance): void {
  server.server.on("upgrade", (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
    countRequest(raw.socket);
    // Node has removed its own listeners.
    socket.on("error", () => socket.destroy());
    raw.socket.setTimeout(ANSWER_MS, () => socket.destroy());
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
    // Only a refusal is an HTTP response. The client may have sent messages already, and may never close its side.
    response.once("finish", () => {
      socket.end();
      linger(
        raw.socket,
        () => false,
        () => socket.destroy(),
      );
    });
    server.routing(raw, response);
  });
}

/**
 * Sends `101`. The close of the connection closes `reply.raw`. @returns undefined if the client has left, or after a handshake
 * that the library refuses, which it answers itself.
 * @throws ClientError upgradeRequired, or foreignOrigin: a browser sends a key that it knows with the requests of any page.
 */
export async function acceptWebSocket(request: FastifyRequest, reply: FastifyReply): Promise<WebSocket | undefined> {
  const { raw } = request;
  const { origin } = raw.headers;
  if (origin !== undefined && origin !== `${request.protocol}://${request.host}`)
    throw clientError("foreignOrigin", []);
  const upgrade = upgrades.get(raw);
  if (!upgrade) throw clientError("upgradeRequired", [], { headers: { upgrade: "websocket", connection: "upgrade" } });
  const { socket, head } = upgrade;
  const disconnection = disconnected(reply);
  if (disconnection.aborted) return undefined;
  reply.hijack();
  return await new Promise((resolve) => {
    disconnection.addEventListener("abort", () => resolve(undefined), { once: true });
    webSockets.handleUpgrade(raw, socket, head, (accepted) => {
      answerPings(accepted);
      resolve(accepted);
    });
  });
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
