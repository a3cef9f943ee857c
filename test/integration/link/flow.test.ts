import assert from "node:assert/strict";
import { once } from "node:events";
import http2, { createServer } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxFiles } from "../../../src/domain/sandboxes/files.ts";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import { keepAlive } from "../../../src/link/keep-alive.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import {
  DIRECTIONS,
  sharedDatabase,
  startServiceLink,
  startWorkerLink,
  untilLinked,
} from "../../support/link/linked.ts";
import { callerOf, sandboxRequest } from "../../support/sandboxes/caller.ts";
import { addKey } from "../../support/store/temporary.ts";

const MIB = 1_048_576;
const PIECE = Buffer.alloc(65_536, "x");
const LONG = 100 * MIB;
/** What may be on its way over a link at once: the windows of both sides, and what the kernel holds of a connection on this machine. */
const UNDER_WAY = 12 * MIB;

/** Files whose bytes are counted instead of kept. */
class Counting {
  /** Bytes that the file program has given, and that it has taken. */
  given = 0;
  taken = 0;
  /** Whether the file program takes bytes now. */
  takes = Promise.resolve();
  ended = 0;

  over(files: SandboxFiles): SandboxFiles {
    const info = {
      path: "/home/user/long",
      type: "file",
      bytes: LONG,
      mode: 0o644,
      modifiedAtMs: 0,
      etag: "1",
    } as const;
    return {
      ...files,
      read: async () => ({ info, from: 0, bytes: LONG, body: this.#body() }),
      archive: async () => this.#body(Number.POSITIVE_INFINITY),
      write: async (_path, body) => {
        for await (const piece of body) {
          await this.takes;
          this.taken += piece.length;
        }
        return info;
      },
    };
  }

  async *#body(bytes = LONG): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (let at = 0; at < bytes; at += PIECE.length) {
        this.given += PIECE.length;
        yield PIECE;
      }
    } finally {
      this.ended++;
    }
  }
}

async function started(t: TestContext, direction: (typeof DIRECTIONS)[number]) {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  const memory = new MemorySandboxes(store);
  const { id, accountId } = await memory.create(sandboxRequest(), callerOf(key), null);
  const counting = new Counting();
  const local = await memory.find(id, accountId);
  const files = counting.over(local.files);
  const host = {
    begin: () => memory.begin(),
    removeSnapshot: (snapshot: string, account: string) => memory.removeSnapshot(snapshot, account),
    find: async (): Promise<SandboxHandle> =>
      Object.create(local, { files: { value: files }, sandbox: { value: local.sandbox } }),
  };
  const worker = await startWorkerLink(t, direction, { store: await another(), id: "memory", host });
  const { link, sandboxes } = await startServiceLink(t, direction, { store });
  // A connection counts when its other end has accepted it.
  await untilLinked(worker, () => worker.services.includes(link.id));
  await untilLinked(link, () => link.hosts.length === 1);
  return { counting, handle: await sandboxes.find(id, accountId) };
}

for (const direction of DIRECTIONS) {
  test(`a file of 100 MB crosses a link that is ${direction}, with few of its bytes on their way`, async (t) => {
    const { counting, handle } = await started(t, direction);
    let [read, most] = [0, 0];
    for await (const piece of (await handle.files.read("long", null)).body) {
      read += piece.length;
      most = Math.max(most, counting.given - read);
    }
    assert.equal(read, LONG);
    let [sent, mostSent] = [0, 0];
    const upload = (async function* () {
      for (; sent < LONG; ) {
        sent += PIECE.length;
        mostSent = Math.max(mostSent, sent - counting.taken);
        yield PIECE;
      }
    })();
    await handle.files.write("long", upload, {});
    assert.equal(counting.taken, LONG);
    t.diagnostic(`at most ${most} bytes under way down, ${mostSent} up`);
    assert.ok(most < UNDER_WAY, `${most} bytes`);
    assert.ok(mostSent < UNDER_WAY, `${mostSent} bytes`);
  });
}

test("a reader that stops reading stops the process of the sandbox, and delays no other call", async (t) => {
  const { counting, handle } = await started(t, "dialled");
  const body = (await handle.files.archive("long"))[Symbol.asyncIterator]();
  await body.next();
  let before = -1;
  while (counting.given !== before) {
    before = counting.given;
    await sleep(200);
    assert.equal((await handle.measure()).memoryBytes, 1);
  }
  assert.ok(counting.given < UNDER_WAY, `${counting.given} bytes`);
  await body.return?.();
  while (counting.ended === 0) await sleep(5);
});

test("a process that stops taking stops the upload, and its end cancels what the process does", async (t) => {
  const { counting, handle } = await started(t, "dialled");
  counting.takes = new Promise(() => {});
  let sent = 0;
  const stop = Promise.withResolvers<never>();
  const upload = (async function* () {
    for (;;) {
      sent += PIECE.length;
      yield PIECE;
      if (sent > 400 * MIB) throw new Error("nothing stops the upload");
      if (sent >= UNDER_WAY) await stop.promise;
    }
  })();
  const written = handle.files.write("long", upload, {});
  written.catch(() => {});
  let before = -1;
  while (sent !== before) {
    before = sent;
    await sleep(200);
  }
  assert.ok(sent < UNDER_WAY, `${sent} bytes`);
});

test("a session whose other end is silent is destroyed, one that answers lives", async (t) => {
  const server = createServer();
  server.on("session", (session) => session.on("error", () => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const forwarded: Socket[] = [];
  const proxy = createTcpServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.pipe(upstream);
    upstream.pipe(client);
    forwarded.push(client, upstream);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => {
    for (const socket of forwarded) socket.destroy();
    proxy.close();
    server.close();
  });
  const session = http2.connect(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const errors: string[] = [];
  session.on("error", (error) => errors.push(error.message));
  let pings = 0;
  const ping = session.ping.bind(session);
  session.ping = ((done: (error: Error | null) => void) =>
    ping((error) => {
      pings++;
      done(error);
    })) as typeof session.ping;
  await once(session, "connect");
  keepAlive(session, 10, 200);
  while (pings < 5) await sleep(5);
  assert.equal(session.destroyed, false);
  const closed = new Promise<void>((resolve) => session.once("close", () => resolve()));
  for (const socket of forwarded) socket.unpipe().pause();
  await closed;
  assert.deepEqual(errors, ["the other end does not answer"]);
});
