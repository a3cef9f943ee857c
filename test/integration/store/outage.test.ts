import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { internalError } from "../../../src/domain/outcome.ts";
import { StoreError, StoreUnavailable } from "../../../src/store/database/errors.ts";
import { openDatabase, openStore } from "../../../src/store/open.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { addKey, enqueue, postgresServer } from "../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const NEVER = new AbortController().signal;

/** A separate server for this file, because its tests stop it. */
const own = PostgresServer.start();
after(async () => (await own).stop());

async function store(t: TestContext) {
  const server = await own;
  const opened = await openStore({ database: { kind: "postgres", url: server.url(await server.createDatabase()) } });
  t.after(() => opened.close());
  return { server, store: opened, key: await addKey(opened, "a") };
}

test("calls fail as unavailable while the server is down, and work after it restarts", LIMIT, async (t) => {
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

test("waits for an end survive a restart of the server", LIMIT, async (t) => {
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
  // From another process, so that the notification can only arrive over the lost connection.
  const url = server.url("");
  const [{ datname } = {}] = await server.admin("select datname from pg_database order by oid desc limit 1");
  const other = await openStore({ database: { kind: "postgres", url: `${url}${datname}` } });
  woken = 0;
  await other.submissions.finish(claim.lease, internalError("x"));
  await other.close();
  assert.equal((await ended)?.status, "error");
  while (woken === 0) await sleep(5);
});

test("a wait that is aborted while the server is down fails as unavailable", LIMIT, async (t) => {
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

test("a transaction of a dead connection does not keep its locks", LIMIT, async (t) => {
  const { server, store: there, key } = await store(t);
  await enqueue(there, key);
  const claims = Promise.allSettled(Array.from({ length: 5 }, () => there.submissions.claim("w", 1_000)));
  await server.admin("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'assay'");
  await claims;
  await sleep(100); // until the last old connection is known to be dead
  assert.equal((await enqueue(there, key)).kind, "enqueued");
  await there.submissions.claim("w", 1_000);
});

/** A proxy to a server that can silently drop all bytes in both directions. */
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

test("a statement without a reply fails after 35 s, and its connection is not reused", LIMIT, async (t) => {
  const server = await postgresServer();
  const url = new URL(server.url(await server.createDatabase()));
  const { port, close, swallow } = await carrier(Number(url.port));
  url.port = String(port);
  // Only the clock is mocked, and before the store opens, because earlier timers would keep the real clock.
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

test("the error of an unusable database is one line that names it without its password", LIMIT, async () => {
  const server = await postgresServer();
  const right = server.url("postgres");
  const closing = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => closing.listen(0, "127.0.0.1", resolve));
  const { port } = closing.address() as { port: number };
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
  closing.close();
});

test("rejects databases with an encoding other than UTF8", LIMIT, async () => {
  const server = await postgresServer();
  await server.admin("create database latin template template0 encoding 'LATIN1'");
  await assert.rejects(openStore({ database: { kind: "postgres", url: server.url("latin") } }), /needs UTF8/);
});

test("a paused process delays others until the server ends its transaction", LIMIT, async (t) => {
  const server = await own;
  const database = { kind: "postgres", url: server.url(await server.createDatabase()) } as const;
  const there = await openStore({ database });
  t.after(() => there.close());
  await enqueue(there, await addKey(there, "a"));
  const paused = await openDatabase(database);
  t.after(() => paused.db.destroy());
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const transaction = paused.db.transaction().execute(async (trx) => {
    await paused.abilities.lock(trx, "claim");
    isLocked();
    await resumed;
  });
  await locked;
  const began = performance.now();
  assert.equal((await there.submissions.claim("w", 60_000, 1)).length, 1);
  assert.ok(performance.now() - began > 5_000, "the lock was not held"); // the server ends the transaction after 10 s without a statement
  resume();
  await assert.rejects(transaction);
});
