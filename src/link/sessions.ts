import http2, { type ClientHttp2Session, type ServerHttp2Session, type Settings } from "node:http2";
import type { TLSSocket } from "node:tls";
import { MOST_CALLS } from "./client.ts";
import { keepAlive } from "./keep-alive.ts";

/** What one stream may send before it is read: enough for 250 MB/s over a network with a round trip of 1 ms. */
const STREAM_WINDOW = 262_144;
/** What all streams of a link may send before it is received. Node counts data as received when it arrives; streams bound the memory. */
const LINK_WINDOW = 8 * 1_048_576;

const SETTINGS: Settings = {
  enablePush: false,
  initialWindowSize: STREAM_WINDOW,
  maxConcurrentStreams: MOST_CALLS,
  maxHeaderListSize: 4_096,
  headerTableSize: 4_096,
};
/** Megabytes that one session may hold: what all streams may send, and what waits to be sent. */
const SESSION_MEMORY = 768;
const BOUNDS = {
  settings: SETTINGS,
  maxHeaderListPairs: 16,
  maxSessionMemory: SESSION_MEMORY,
  maxSendHeaderBlockLength: 4_096,
  maxSessionInvalidFrames: 8,
  maxSessionRejectedStreams: 64,
  maxSettings: 16,
  // All calls can be cancelled at the same time, such as those that were not answered in time. By default, 1,000 of these end the session.
  streamResetBurst: MOST_CALLS,
  streamResetRate: MOST_CALLS,
} as const;

/** Begins the session of the side that asks, over a connection that is proven. */
export function askingSession(socket: TLSSocket): ClientHttp2Session {
  const session = http2.connect("https://link", { ...BOUNDS, createConnection: () => socket });
  return prepared(session);
}

/** Begins the session of the side that answers. */
export function answeringSession(socket: TLSSocket): ServerHttp2Session {
  return prepared(http2.performServerHandshake(socket, BOUNDS));
}

function prepared<Session extends ClientHttp2Session | ServerHttp2Session>(session: Session): Session {
  session.on("error", () => {}); // its end is what matters, and 'close' tells it
  const widen = () => session.setLocalWindowSize(LINK_WINDOW);
  if (session.connecting) session.once("connect", widen);
  else widen();
  keepAlive(session);
  return session;
}
