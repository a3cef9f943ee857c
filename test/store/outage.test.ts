import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { internalError } from "../../src/domain/outcome.ts";
import { StoreError, StoreUnavailable } from "../../src/store/errors.ts";
import { openStore } from "../../src/store/open.ts";
import { PostgresServer } from "./postgres-server.ts";
import { addKey, enqueue, postgresServer } from "./temporary.ts";

const LIMIT = { timeout: 60_000 };
const NEVER = new AbortController().signal;

/** A server of this file's own, because it is stopped. */
const own = PostgresServer.start();
after(async () => (await own).stop());

async function store(t: TestContext) {
  const server = await own;
  const opened = await openStore({ database: { kind: "postgres", url: server.url(await server.createDatabase()) } });
  t.after(() => opened.close());
  return { server, store: opened, key: await addKey(opened, "a") };
}

test("while the server is away every call says so, and afterwards all is as before", LIMIT, async (t) => {
  const { server, store: there, key } = await store(t);
  await enqueue(there, key);
  const [claim] = await there.submissions.claim("w", 60_000);
  assert.ok(claim);
  await server.stop();
  const calls = [
    () => enqueue(there, key),
    () => there.submissions.claim("w", 1_000),
    () => there.submissions.renew(claim.lease, 1_000),
    () => there.submissions.finish(claim.lease, internalError("x")),
    () => there.submissions.get(claim.submission.id, key.accountId),
    () => there.submissions.depth(),
    () => there.keys.findCaller(key.hash),
    () => there.workers.announced(),
    () => there.ping(),
  ];
  for (const call of [...calls, ...calls]) {
    await assert.rejects(
      call(),
      (error) => error instanceof StoreUnavailable && !error.message.includes("password"),
      String(call),
    );
  }
  await server.start();
  assert.equal(await there.submissions.finish(claim.lease, internalError("x")), true);
  assert.equal(await there.submissions.depth(), 0);
});

test("who waits for an end waits through a restart of the server", LIMIT, async (t) => {
  const { server, store: there, key } = await store(t);
  await enqueue(there, key);
  const [claim] = await there.submissions.claim("w", 60_000);
  assert.ok(claim);
  let woken = 0;
  t.after(there.onWork(() => woken++));
  const ended = there.submissions.whenTerminal(claim.submission.id, key.accountId, NEVER);
  await sleep(100);
  await server.stop();
  await sleep(300);
  await server.start();
  // By another process, so that the only way to hear of it is the connection that was lost.
  const url = server.url("");
  const [{ datname } = {}] = await server.admin("select datname from pg_database order by oid desc limit 1");
  const other = await openStore({ database: { kind: "postgres", url: `${url}${datname}` } });
  woken = 0;
  await other.submissions.finish(claim.lease, internalError("x"));
  await other.close();
  assert.equal((await ended)?.status, "error");
  while (woken === 0) await sleep(5);
});

test("who stops waiting while the server is away is told that it is", LIMIT, async (t) => {
  const { server, store: there, key } = await store(t);
  const accepted = await enqueue(there, key);
  assert.ok(accepted.kind === "enqueued");
  const stop = new AbortController();
  const waiting = there.submissions.whenTerminal(accepted.submission.id, key.accountId, stop.signal);
  await sleep(50);
  await server.stop();
  const rejected = assert.rejects(waiting, StoreUnavailable);
  await sleep(100);
  stop.abort();
  await rejected;
  await server.start();
});

test("a transaction that a dead connection leaves behind does not keep its locks", LIMIT, async (t) => {
  const { server, store: there, key } = await store(t);
  await enqueue(there, key);
  const claims = Promise.allSettled(Array.from({ length: 5 }, () => there.submissions.claim("w", 1_000)));
  await server.admin("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'assay'");
  await claims;
  await sleep(100); // until the last of the old connections is known to be dead
  assert.equal((await enqueue(there, key)).kind, "enqueued");
  await there.submissions.claim("w", 1_000);
});

/** Carries bytes to a server and back, until it swallows them: nothing arrives, and nobody hears of it. */
async function carrier(to: number) {
  const sockets = new Set<Socket>();
  let swallows = false;
  const server = createServer((here) => {
    const there = connect(to, "127.0.0.1");
    for (const [from, into] of [
      [here, there],
      [there, here],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => swallows || into.write(bytes)).on("error", () => {});
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { port, close, swallow: (fromNowOn: boolean) => (swallows = fromNowOn) };
}

test("a statement that nobody answers ends after 35 s, and nothing waits on its connection", LIMIT, async (t) => {
  const server = await postgresServer();
  const url = new URL(server.url(await server.createDatabase()));
  const { port, close, swallow } = await carrier(Number(url.port));
  url.port = String(port);
  // Only the clock: who does not answer is real. From the start, because timers of before would go on by the other clock.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const there = await openStore({ database: { kind: "postgres", url: url.href } });
  t.after(() => there.close().finally(close));
  await there.ping();
  swallow(true);
  let settled = false;
  const claimed = there.submissions.claim("w", 1_000).finally(() => {
    settled = true;
  });
  const rejected = assert.rejects(claimed, StoreUnavailable);
  const turns = async () => {
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  await turns();
  t.mock.timers.tick(34_999);
  await turns();
  assert.equal(settled, false);
  t.mock.timers.tick(1);
  await turns();
  assert.equal(settled, true);
  await rejected;
  t.mock.timers.reset();
  swallow(false);
  await there.ping();
});

test("a database that cannot be used is one sentence, which names it without its password", LIMIT, async () => {
  const server = await postgresServer();
  const right = server.url("postgres");
  const nobody = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => nobody.listen(0, "127.0.0.1", resolve));
  const { port } = nobody.address() as { port: number };
  const wrong: Record<string, RegExp> = {
    [right.replace(/:[^:@]+@/, ":wrong-secret@")]: /password authentication failed/,
    [right.replace(/postgres$/, "nowhere")]: /database "nowhere" does not exist/,
    "postgres://assay:secret@127.0.0.1:1/assay": /ECONNREFUSED/,
    [`postgres://assay:secret@127.0.0.1:${port}/assay`]: /terminated|ECONNRESET/,
    "postgres:///assay?host=/nowhere&user=assay&password=secret": /ENOENT/,
  };
  for (const [url, words] of Object.entries(wrong)) {
    await assert.rejects(openStore({ database: { kind: "postgres", url } }), (error) => {
      assert.ok(error instanceof StoreError, String(error));
      assert.match(error.message, words);
      assert.match(error.message, /^cannot use the database postgres:\/\/assay@/);
      assert.doesNotMatch(error.message, /secret|a%20password|a password|\n/);
      return true;
    });
  }
  nobody.close();
});

test("a database of another encoding is refused", LIMIT, async () => {
  const server = await postgresServer();
  await server.admin("create database latin template template0 encoding 'LATIN1'");
  await assert.rejects(openStore({ database: { kind: "postgres", url: server.url("latin") } }), /needs UTF8/);
});
