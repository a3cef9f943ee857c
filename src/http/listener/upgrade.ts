import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { clientError } from "../../domain/error.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { linger } from "../responses/linger.ts";
import { countRequest } from "./burst-guard.ts";

/** The most bytes of a message. It can have the source and files of a program in base64. A connection keeps one message at a time. */
const MAX_MESSAGE_BYTES = 2 * 1_048_576;

interface Upgrade {
  readonly socket: Duplex;
  /** What the client sent after its request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();
/** The parts of a message are bounded, because `ws` keeps each fragment and each chunk in a buffer, however short it is. */
const MAX_PARTS = { maxFragments: 2_048, maxBufferedChunks: 32_768 };

/**
 * The most pings and pongs of a client in CONTROLS_MS. Usual clients send one every few seconds. Without a limit, one turn of the event
 * loop would read thousands of them.
 */
const [MAX_CONTROLS, CONTROLS_MS] = [100, 10_000];

/** The time limit of the response to a request for a WebSocket. Nothing that the request waits for takes as long. */
const ANSWER_MS = 30_000;

const webSockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  autoPong: false,
  // Each message is handled in a turn of the event loop of its own: a read of 64 KiB can contain 10,900 empty messages.
  allowSynchronousEvents: false,
  ...MAX_PARTS,
});

/** The paths of our own routes that take a WebSocket: those of the API, and the terminal of the dashboard. */
const WEB_SOCKET_PATH =
  /^\/(api\/result\/[^/]+\/connect|(dashboard\/)?api\/sandboxes\/[^/]+\/executions\/[^/]+\/attach)(\?|$)/;

/** Whether our own route with this URL takes a WebSocket. */
export function takesOwnWebSocket(url: string): boolean {
  return WEB_SOCKET_PATH.test(url);
}

/** Whether a request asks for a WebSocket, by its method and its headers. */
export function asksForWebSocket({ method, headers: { upgrade } }: IncomingMessage): boolean {
  return method === "GET" && upgrade?.toLowerCase() === "websocket";
}

/**
 * Passes requests for a WebSocket through the same steps as all other requests, to a route that calls `acceptWebSocket`. From the event
 * `upgrade` on, Node no longer limits the time of the connection. Node does not read from it either, so it would not notice that the client
 * has gone.
 */
export function routeUpgrades(server: FastifyInstance): void {
  server.server.on("upgrade", (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
    countRequest(raw.socket);
    // Node has removed its own listeners, and an error without a listener would end the process.
    socket.on("error", () => socket.destroy());
    raw.socket.setTimeout(ANSWER_MS, () => socket.destroy());
    const response = new ServerResponse(raw);
    try {
      response.assignSocket(raw.socket);
    } catch {
      // The previous request on the connection has no response yet. Browsers and other clients never send an upgrade so early.
      socket.destroy();
      return;
    }
    upgrades.set(raw, { socket, head });
    response.shouldKeepAlive = false;
    // The response ends only if the request is refused. The client may have sent messages already, and may never close its side.
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
 * Accepts the WebSocket that a request asks for, with the status 101. When the connection closes, so does `reply.raw`.
 * @returns undefined if the client has gone, or if `ws` refuses the handshake; `ws` has then sent the response.
 * @throws ClientError upgradeRequired for a request without an upgrade. ClientError foreignOrigin for a page of another origin, because a
 * browser sends a key that it has stored with the requests of any page.
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

/** Responds to pings. A client that sends more than MAX_CONTROLS pings and pongs, which no other limit counts, is disconnected. */
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
