import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionQuota } from "../../../src/http/listener/connection-quota.ts";
import { Connections } from "../../../src/http/listener/connections.ts";
import { Raw } from "../../support/http/raw.ts";
import { type Reply, startHttp } from "../../support/http/running.ts";
import { noting } from "../../support/metrics/noting.ts";

test("counts connections from one client port to several server addresses separately", async (t) => {
  const { meter, times } = noting();
  const connections = new Connections(new ConnectionQuota({ maxConnections: 2 }, meter));
  const server = createServer();
  const accepted: Socket[] = [];
  server.on("connection", (socket: Socket) => accepted.push(socket));
  connections.watch(server);
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  t.after(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy();
    server.close();
  });
  for (const host of ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
    const localPort = clients[0]?.localPort;
    const client = connect({ host, port, localAddress: "127.0.0.1", ...(localPort !== undefined && { localPort }) });
    clients.push(client);
    client.on("error", () => {}); // the service closes the oldest
    const more = once(server, "connection");
    await once(client, "connect");
    await more;
  }
  assert.equal(new Set(clients.map(({ localPort }) => localPort).filter(Boolean)).size, 1);
  const open = accepted.filter(({ destroyed }) => !destroyed);
  assert.equal(open.length, 2);
  assert.equal(times("connectionsRefused all"), 2);
  const owned = open.filter((socket) => connections.assign({ raw: { socket } as IncomingMessage }, "account a"));
  assert.equal(owned.length, 1, "an owner leaves as many places free as it holds");
});

test("a new client takes the place of the connection that has been idle longest, of the owner that has most", () => {
  const { meter, times } = noting();
  const quota = new ConnectionQuota({ maxConnections: 7 }, meter);
  const ended: string[] = [];
  const open = (name: string, owner: string) => {
    const connection = quota.take("203.0.113.1", () => ended.push(name)) ?? assert.fail(name);
    quota.requestBegan(connection);
    assert.ok(quota.assign(connection, owner), name);
    return connection;
  };
  const many = ["m0", "m1", "m2", "m3"].map((name) => open(name, "many"));
  const few = ["f0", "f1"].map((name) => open(name, "few"));
  const one = open("o0", "one");
  assert.equal(
    quota.take("198.51.100.1", () => {}),
    undefined,
    "no connection is idle",
  );
  for (const connection of [one, ...few, ...many]) quota.requestEnded(connection);
  quota.requestBegan(many[0] ?? assert.fail());
  const newcomer = quota.take("198.51.100.1", () => ended.push("newcomer")) ?? assert.fail();
  assert.deepEqual(ended, ["m1"]);
  assert.ok(quota.assign(newcomer, "another"));
  quota.take("198.51.100.1", () => {}) ?? assert.fail();
  assert.deepEqual(ended, ["m1", "m2"]);
  assert.equal(times("connectionsRefused all"), 3);
});

const PROXIED = { kind: "proxied", proxies: ["127.0.0.1"] } as const;
const from = (address: string) => ({ "x-forwarded-proto": "https", "x-forwarded-for": address });

/** Sign-in attempts without their bodies, as forwarded by a proxy. */
async function strangers(t: TestContext, port: number, many: number, address: string): Promise<Raw[]> {
  const all: Raw[] = [];
  t.after(() => {
    for (const { socket } of all) socket.destroy();
  });
  for (let n = 0; n < many; n++) {
    const raw = Raw.plain(port);
    all.push(raw);
    const proxied = `X-Forwarded-Proto: https\r\nX-Forwarded-For: ${address}\r\nOrigin: https://x`;
    const body = "Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue";
    raw.write(`POST /dashboard/api/session HTTP/1.1\r\nHost: x\r\n${proxied}\r\n${body}\r\n\r\n`);
    while (raw.received === "" && !raw.socket.destroyed) await sleep(5);
    assert.match(raw.received, /^HTTP\/1.1 100 /);
  }
  return all;
}

test("behind a proxy, limits anonymous requests by address and does not exclude clients at that address", async (t) => {
  const limits = { maxConnectionsPerAddress: 10, maxConnections: 25 };
  const { port, ask, times } = await startHttp(t, { transport: PROXIED, limits });
  const many = await strangers(t, port, 14, "203.0.113.1");
  const others = await strangers(t, port, 5, "203.0.113.2");
  await sleep(50);
  assert.deepEqual(
    many.map(({ socket }) => socket.destroyed),
    many.map((_, n) => n < 4),
  );
  assert.ok(others.every(({ socket }) => !socket.destroyed));
  for (const address of ["203.0.113.1", "203.0.113.2", "203.0.113.3"]) {
    assert.equal((await ask({ path: "/api/health", headers: from(address) })).status, 200, address);
  }
  assert.equal(
    times("connectionsRefused address"),
    5,
    "four for anonymous requests, one for the client at their address",
  );
});

test("behind a proxy, an account may have as many requests in progress as remain free, held waits included", async (t) => {
  const running = await startHttp(t, { transport: PROXIED, limits: { maxConnections: 20 }, holdMs: 2_000 });
  const greedy = await running.key({ account: "greedy" });
  const addresses = Array.from({ length: 15 }, (_, n) => `203.0.113.${n}`);
  const held = addresses.map((address) =>
    running.submit(undefined, { key: greedy, path: "/api/submit?wait=true", headers: from(address) }),
  );
  const refused: Reply[] = [];
  for (const one of held) void one.then((reply) => reply.status === 503 && refused.push(reply));
  while (refused.length < 5) await sleep(10);
  assert.equal(
    (await running.ask({ path: "/api/health", headers: from("203.0.113.1") })).status,
    200,
    "another account",
  );
  assert.ok(refused.every(({ headers }) => headers["retry-after"] === "1"));
  const statuses = (await Promise.all(held)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 408).length, 10);
  assert.equal((await running.ask({ path: "/api/health", headers: from("::1"), key: greedy })).status, 200, "later");
});
