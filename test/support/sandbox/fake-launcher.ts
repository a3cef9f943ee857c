import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Frame, FrameReader } from "../../../src/sandbox/wire.ts";

/** One connection from the launcher's side. */
export interface Peer {
  readonly say: (...frames: Buffer[]) => void;
  readonly hangUp: () => void;
  /** Sends the frames and closes the connection, or the side of the launcher. */
  readonly sayLast: (...frames: Buffer[]) => void;
  /** The next frame from the client. */
  readonly heard: () => Promise<Frame>;
  /** Resolves when the client has closed its side of the connection. */
  readonly ended: Promise<void>;
  /** Resolves when the client has closed the connection. */
  readonly closed: Promise<void>;
}

/**
 * A socket on which a test acts as the launcher, byte by byte. `peer` is the next connection.
 * @param allowHalfOpen whether the side of the launcher stays open when the client has closed its side.
 */
export async function fakeLauncher(
  t: TestContext,
  { allowHalfOpen = false } = {},
): Promise<{ socket: string; peer: () => Promise<Peer> }> {
  const directory = mkdtempSync(join(tmpdir(), "assay-fake-"));
  const socket = join(directory, "socket");
  const peers = queue<Peer>();
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen }, (connection) => {
    open.add(connection);
    peers.put(toPeer(connection));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => {
    for (const connection of open) connection.destroy();
    server.close();
    rmSync(directory, { recursive: true });
  });
  return { socket, peer: peers.take };
}

function toPeer(connection: Socket): Peer {
  const reader = new FrameReader();
  const frames = queue<Frame>();
  connection.on("data", (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) frames.put(frame);
  });
  connection.on("error", () => {}); // the client may close early
  return {
    say: (...bytes) => connection.write(Buffer.concat(bytes)),
    hangUp: () => connection.destroy(),
    sayLast: (...bytes) => connection.end(Buffer.concat(bytes)),
    heard: frames.take,
    ended: new Promise((resolve) => connection.once("end", () => resolve())),
    closed: new Promise((resolve) => connection.once("close", () => resolve())),
  };
}

function queue<T>(): { put: (item: T) => void; take: () => Promise<T> } {
  const items: T[] = [];
  const waiting: ((item: T) => void)[] = [];
  return {
    put: (item) => {
      const next = waiting.shift();
      if (next) next(item);
      else items.push(item);
    },
    take: () => {
      const item = items.shift();
      return item === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(item);
    },
  };
}
