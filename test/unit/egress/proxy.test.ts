import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls, createServer as createTls } from "node:tls";
import fc from "fast-check";
import { egressSchema } from "../../../src/domain/egress/egress-record.ts";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { type ByteLender, MemoryLender } from "../../../src/egress/budget.ts";
import { encodeHeader, MAX_STREAMS } from "../../../src/egress/protocol.ts";
import { newIdentity } from "../../../src/link/certificate.ts";
import { dnsMessage, dnsQuery, TYPES } from "../../support/egress/dns.ts";
import { localServer, type Network, type NetworkOptions, network, TOKEN, until } from "../../support/egress/network.ts";
import { begin, destinationBytes, FakeRelay, type RelayedConnection } from "../../support/egress/relay.ts";

const NAME = "api.example.com";
/** Tests cannot listen on the ports of protocols, so the dialled ports are replaced. */
const to = (port: number, more: NetworkOptions = {}): NetworkOptions => ({
  ports: { 22: port, 80: port, 443: port },
  ...more,
});
const allowing = (...ports: number[]) => ({ allow: [{ host: NAME, ports }] });
const echo = (socket: Socket) => socket.pipe(socket);

const text = (connection: RelayedConnection) => Buffer.concat(connection.received).toString("latin1");
/** The only connection in the record of what belongs to no execution. */
function only({ sandbox }: Network) {
  const record = egressSchema.parse(sandbox.record(null));
  assert.equal(record.connections.length, 1);
  return { record, connection: record.connections[0] as (typeof record.connections)[number] };
}

test("forwards both directions to the host that the address stands for", async (t) => {
  const server = await localServer(t, (socket) => {
    socket.write("220 hello\r\n"); // the server speaks first
    socket.on("data", (chunk) => socket.write(chunk.toString().toUpperCase()));
    socket.on("end", () => socket.end("bye"));
  });
  const net = await network(t, allowing(22), to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  assert.equal(stream.answer, 0);
  await until(() => text(stream) === "220 hello\r\n");
  stream.socket.write("some text");
  await until(() => text(stream).endsWith("SOME TEXT"));
  stream.socket.end(); // a half-close: the server still answers
  assert.equal(await stream.ended, "closed");
  assert.equal(text(stream), "220 hello\r\nSOME TEXTbye");
  await until(() => only(net).connection.ended !== null);
  const { record, connection } = only(net);
  assert.match(connection.at, /^20\d\d-\d\d-\d\dT/);
  assert.deepEqual(
    { ...connection, at: "" },
    {
      at: "",
      name: NAME,
      address: "127.0.0.1",
      port: 22,
      decision: "allowed",
      rule: NAME,
      reason: null,
      bytes_up: 9,
      bytes_down: 23,
      ended: "client",
    },
  );
  const budget = parseNetworkPolicy(allowing(22));
  assert.ok(budget !== "none");
  assert.deepEqual(
    { ...record, connections: [] },
    {
      policy_version: 1,
      bytes_up: 9,
      bytes_down: 23,
      budget_left: { up: budget.bytesUp - 9, down: budget.bytesDown - 23 },
      connections: [],
      more: [],
      denied: 0,
      refused_names: [],
      dns: { answered: 1, refused: 0 },
      complete: true,
      source: "sandbox",
    },
  );
});

test("a server that ends first is the end of the connection", async (t) => {
  const server = await localServer(t, (socket) => socket.end("all"));
  const net = await network(t, allowing(22), to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  await new Promise((resolve) => stream.socket.once("end", resolve));
  stream.socket.end();
  assert.equal(await stream.ended, "closed");
  await until(() => only(net).connection.ended === "server");
  assert.equal(only(net).connection.reason, null);
});

test("an address counts by rules for networks only, and a name by its own rule", async (t) => {
  const server = await localServer(t, echo);
  const policy = {
    allow: [
      { cidr: "127.0.0.0/8", ports: [22] },
      { host: NAME, ports: [80] },
    ],
  };
  const net = await network(t, policy, to(server.port));
  const stream = await net.relay.open("127.0.0.1", 22);
  assert.equal(stream.answer, 0);
  stream.socket.end("x");
  assert.equal(await stream.ended, "closed");
  assert.deepEqual(net.resolved, []);
  const named = await net.addressOf(NAME);
  for (const [address, port, reason] of [
    [named, 22, /^port 22 of api\.example\.com is not allowed by the policy of this sandbox$/],
    ["127.0.0.1", 443, /^port 443 of 127\.0\.0\.1 is not allowed/],
    ["93.184.215.14", 22, /^93\.184\.215\.14 is not allowed/],
    ["2606:4700::1111", 443, /^2606:4700::1111 is not allowed/],
    ["::1", 22, /^::1 is not allowed/],
    ["198.18.1.9", 443, /^198\.18\.1\.9 stands for no name in this sandbox$/],
    ["fd00:a55a::1:100", 443, /^fd00:a55a::1:100 stands for no name in this sandbox$/],
  ] as const) {
    const refused = await net.relay.open(address, port);
    assert.equal(refused.answer, 1, address);
    const last = net.sandbox.record(null).connections.at(-1);
    assert.equal(last?.decision, "denied");
    assert.equal(last?.ended, null);
    assert.match(last?.reason ?? "", reason);
  }
  assert.equal(net.sandbox.record(null).denied, 7);
});

test("a network that only the policy allows, but not the operator, is refused", async (t) => {
  const net = await network(
    t,
    {
      allow: [
        { cidr: "10.0.0.0/8", ports: [22] },
        { cidr: "169.254.0.0/16", ports: [22] },
        { host: NAME, ports: [22] },
      ],
    },
    { addresses: () => ["93.184.215.14", "10.0.0.7"] },
  );
  assert.equal((await net.relay.open("10.1.2.3", 22)).answer, 1);
  assert.equal((await net.relay.open("169.254.169.254", 22)).answer, 1);
  assert.equal((await net.relay.open(await net.addressOf(NAME), 22)).answer, 1);
  assert.deepEqual(
    net.sandbox.record(null).connections.map(({ decision, reason }) => [decision, reason]),
    [
      ["denied", "only public addresses are allowed: 10.1.2.3 is private"],
      ["denied", "only public addresses are allowed: 169.254.169.254 is linkLocal"],
      ["denied", `only public addresses are allowed: ${NAME}, 10.0.0.7, is private`],
    ],
  );
});

test("a connection that fails is refused to the program, and says why", async (t) => {
  const net = await network(t, allowing(22), to(1));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  assert.equal(stream.answer, 1);
  const { connection } = only(net);
  assert.equal(connection.decision, "allowed");
  assert.equal(connection.ended, "server");
  assert.match(connection.reason ?? "", /^no connection to api\.example\.com: .*ECONNREFUSED/);
});

/** The response to a denied request. The program then ends the connection. */
async function denialOf(stream: RelayedConnection): Promise<string> {
  await new Promise((resolve) => stream.socket.once("end", resolve));
  stream.socket.end();
  assert.equal(await stream.ended, "closed");
  return text(stream);
}

const request = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

test("on port 80, nothing is connected or forwarded before the Host is checked", async (t) => {
  const got: Buffer[] = [];
  const server = await localServer(t, (socket) => socket.on("data", (chunk) => got.push(chunk)));
  const net = await network(t, allowing(80), to(server.port));
  const address = await net.addressOf(NAME);
  const wrong = await net.relay.open(address, 80);
  wrong.socket.write(request("evil.example.org"));
  const reason = `the connection to ${NAME} asks for evil.example.org in its HTTP header Host`;
  assert.match(await denialOf(wrong), new RegExp(`^HTTP/1\\.1 403 .*\r\n\r\n${reason}\n$`, "s"));
  assert.equal(only(net).connection.reason, reason);
  assert.equal(only(net).connection.decision, "denied");
  assert.deepEqual(net.resolved, [], "connected before the check");
  const later = await net.relay.open(address, 80);
  later.socket.write(request(NAME));
  await until(() => Buffer.concat(got).length === request(NAME).length);
  later.socket.write(request("evil.example.org"));
  assert.equal(await later.ended, "reset");
  assert.equal(Buffer.concat(got).toString(), request(NAME));
  const last = net.sandbox.record(null).connections.at(-1);
  assert.deepEqual([last?.decision, last?.ended, last?.bytes_up], ["allowed", "policy", request(NAME).length]);
});

test("on port 80, a denied request gets the reason, whatever denies it, and no budget is used", async (t) => {
  const policy = {
    allow: [
      { host: NAME, ports: [80, 443] },
      { host: "other.example.com", ports: [443] },
    ],
    bytes_down: 0,
  };
  const net = await network(t, policy, { addresses: () => ["10.0.0.7"], heldMs: 200 });
  const other = await net.addressOf("other.example.com");
  for (const [address, reason] of [
    ["93.184.215.14", "93.184.215.14 is not allowed by the policy of this sandbox"],
    [other, "port 80 of other.example.com is not allowed by the policy of this sandbox"],
    [await net.addressOf(NAME), `only public addresses are allowed: ${NAME}, 10.0.0.7, is private`],
  ] as const) {
    const stream = await net.relay.open(address, 80);
    assert.equal(stream.answer, 0);
    stream.socket.write(request(NAME));
    const response = await denialOf(stream);
    assert.ok(response.startsWith("HTTP/1.1 403 Forbidden\r\n") && response.endsWith(`\r\n\r\n${reason}\n`), response);
  }
  const silent = await net.relay.open("93.184.215.14", 80);
  assert.equal(await silent.ended, "reset");
  assert.deepEqual([text(silent), net.sandbox.record(null).denied, net.sandbox.record(null).bytes_down], ["", 4, 0]);
});

test("a program may send parts without end, and wait between requests, but not within one", async (t) => {
  const server = await localServer(t, (socket) => socket.on("data", () => {}));
  const net = await network(t, allowing(80), to(server.port, { heldMs: 500 }));
  const stream = await net.relay.open(await net.addressOf(NAME), 80);
  const bytes = request(NAME).repeat(40);
  // Each write ends within a head.
  for (let at = 0; at < bytes.length; at += 50) {
    stream.socket.write(bytes.slice(at, at + 50));
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(only(net).connection.ended, null);
  stream.socket.write("GET ");
  assert.equal(await stream.ended, "reset");
  assert.deepEqual([only(net).connection.ended, only(net).connection.bytes_up], ["policy", bytes.length]);
});

test("a request after which the program sends nothing more gets its response", async (t) => {
  const server = await localServer(t, (socket) => socket.on("data", () => {}).on("end", () => socket.end("response")));
  const net = await network(t, allowing(80), to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 80);
  stream.socket.end(request(NAME));
  assert.equal(await stream.ended, "closed");
  assert.equal(text(stream), "response");
  const empty = await net.relay.open(await net.addressOf(NAME), 80);
  empty.socket.end();
  assert.equal(await empty.ended, "reset");
  assert.deepEqual(
    net.sandbox.record(null).connections.map(({ ended }) => ended),
    ["client", "client"],
  );
  assert.equal(net.resolved.length, 1, "connected without a request");
});

test("what a program sent last is forwarded before its end, also if it waits for bytes of the budget", async (t) => {
  const got: string[] = [];
  const server = await localServer(t, (socket) =>
    socket.on("data", (chunk) => got.push(chunk.toString())).on("end", () => socket.end("done")),
  );
  const memory = new MemoryLender(100_000_000);
  const lender: ByteLender = {
    lease: async (wanted) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return memory.lease(wanted);
    },
  };
  const net = await network(t, allowing(22, 80), to(server.port, { lender }));
  const address = await net.addressOf(NAME);
  for (const [port, bytes] of [
    [22, "some text"],
    [80, request(NAME)],
  ] as const) {
    got.length = 0;
    const stream = await net.relay.open(address, port);
    stream.socket.end(bytes);
    assert.equal(await stream.ended, "closed");
    assert.equal(got.join(""), bytes);
    assert.equal(text(stream), "done");
  }
});

test("a TLS client talks with the server of its name, and with no other name", async (t) => {
  const { key, cert } = newIdentity();
  const server = createTls({ key, cert }, (socket) => socket.end(`hello ${socket.servername}`));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const net = await network(t, allowing(443), to((server.address() as AddressInfo).port));
  const address = await net.addressOf(NAME);
  const hello = async (servername: string) => {
    const stream = await net.relay.open(address, 443);
    stream.socket.removeAllListeners("data");
    const socket = connectTls({ socket: stream.socket, servername, rejectUnauthorized: false });
    return new Promise<string>((resolve) => {
      socket.on("error", () => resolve("failed"));
      socket.on("close", () => resolve("failed"));
      socket.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
  };
  assert.equal(await hello(NAME), `hello ${NAME}`);
  assert.equal(await hello("evil.example.org"), "failed");
  assert.deepEqual(
    net.sandbox.record(null).connections.map(({ decision }) => decision),
    ["allowed", "denied"],
  );
});

test("a first message that drips in is cut off", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, allowing(80, 443), to(server.port, { heldMs: 150 }));
  const address = await net.addressOf(NAME);
  const streams = await Promise.all([net.relay.open(address, 80), net.relay.open(address, 443)]);
  const drips = streams.map(({ socket }, at) => {
    const bytes = at === 0 ? Buffer.from(request(NAME)) : Buffer.of(22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3);
    let sent = 0;
    return setInterval(() => socket.write(bytes.subarray(sent, ++sent % 10)), 10);
  });
  const silent = await net.relay.open(address, 443);
  const [http, tls] = streams;
  assert.match(http ? await denialOf(http) : "", /^HTTP\/1\.1 403 /);
  for (const stream of [tls, silent]) assert.equal(await stream?.ended, "reset");
  for (const drip of drips) clearInterval(drip);
  for (const { decision, reason } of net.sandbox.record(null).connections)
    assert.deepEqual([decision, reason], ["denied", "the program did not send a complete request in time"]);
  assert.deepEqual(net.resolved, []);
});

test("64 connections that race for the last byte use exactly the budget, up and down, with a lender", {
  timeout: 120_000,
}, async (t) => {
  const received = { up: 0 };
  const server = await localServer(t, (socket) => {
    socket.on("data", (chunk) => {
      received.up += chunk.length;
      socket.write(chunk);
    });
  });
  const [up, down] = [300_007, 200_003];
  const lender = new MemoryLender(10_000_000);
  const net = await network(t, { ...allowing(22), bytes_up: up, bytes_down: down }, to(server.port, { lender }));
  const address = await net.addressOf(NAME);
  const streams = await Promise.all(Array.from({ length: 64 }, () => net.relay.open(address, 22)));
  for (const { socket, answer } of streams) {
    assert.equal(answer, 0);
    const write = () => {
      if (!socket.destroyed)
        socket.write(randomBytes(1 + Math.floor(Math.random() * 3_000)), (error) => error ?? setImmediate(write));
    };
    write();
  }
  for (const { ended } of streams) assert.equal(await ended, "reset");
  const record = net.sandbox.record(null);
  assert.ok(record.bytes_up <= up && record.bytes_down <= down);
  assert.equal(record.bytes_up === up || record.bytes_down === down, true, "one direction is used up");
  assert.deepEqual(record.budget_left, { up: up - record.bytes_up, down: down - record.bytes_down });
  assert.ok(received.up <= record.bytes_up, "more arrived than was counted");
  const got = streams.reduce((sum, { received: chunks }) => sum + Buffer.concat(chunks).length, 0);
  assert.ok(got <= record.bytes_down, "more arrived than was counted");
  const reasons = new Set(record.connections.map(({ ended, reason }) => `${ended}: ${reason}`));
  for (const reason of reasons)
    assert.match(reason, /^budget: the budget of bytes that this sandbox may (send|receive) is used up$/);
  assert.equal((await net.relay.open(address, 22)).answer, 0, "a connection may begin, but moves nothing");
  await net.sandbox.unregister();
  assert.equal(lender.leased, record.bytes_up + record.bytes_down);
});

test("the last bytes of a budget arrive before the connection ends", async (t) => {
  const server = await localServer(t, (socket) => {
    socket.write("0123456789");
    socket.on("data", () => {});
  });
  const net = await network(t, { ...allowing(22), bytes_down: 7 }, to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  assert.equal(await stream.ended, "reset");
  assert.equal(only(net).connection.bytes_down, 7);
  assert.ok("0123456".startsWith(text(stream)));
});

test("the name under a wildcard counts as sent, because a name server gets it", async (t) => {
  const server = await localServer(t, echo);
  const name = "chosen-by-the-program.example.org";
  const policy = { allow: [{ host: "*.example.org", ports: [22] }], bytes_up: name.length + 3 };
  const net = await network(t, policy, to(server.port));
  const address = await net.addressOf(name);
  const stream = await net.relay.open(address, 22);
  assert.equal(stream.answer, 0);
  assert.equal(net.sandbox.record(null).bytes_up, name.length);
  assert.equal((await net.relay.open(address, 22)).answer, 1);
  assert.deepEqual(net.resolved, [name], "asked without a budget");
  assert.equal(net.sandbox.record(null).bytes_up, name.length + 3);
});

test("a lender that fails ends the connection", async (t) => {
  const server = await localServer(t, echo);
  const lender = { lease: () => Promise.reject(new Error("the database is away")) };
  const net = await network(t, allowing(22), to(server.port, { lender }));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  stream.socket.write("x");
  assert.equal(await stream.ended, "reset");
  assert.deepEqual(
    [only(net).connection.ended, only(net).connection.reason],
    ["budget", "no bytes could be reserved: the database is away"],
  );
  assert.equal(only(net).connection.bytes_up, 0);
});

test("replacing the policy resets what it no longer allows during a transfer, and nothing else", async (t) => {
  const server = await localServer(t, (socket) => {
    const write = () => {
      if (!socket.destroyed) socket.write(Buffer.alloc(10_000), () => setImmediate(write));
    };
    write();
  });
  const both = (...names: string[]) => parseNetworkPolicy({ allow: names.map((host) => ({ host, ports: [22] })) });
  const net = await network(
    t,
    {
      allow: [
        { host: NAME, ports: [22] },
        { host: "*.example.org", ports: [22] },
      ],
    },
    to(server.port),
  );
  const addresses = [await net.addressOf(NAME), await net.addressOf("a.example.org")];
  const [kept, cut] = await Promise.all(addresses.map((address) => net.relay.open(address, 22)));
  assert.ok(kept && cut);
  await until(() => [kept, cut].every(({ received }) => received.length > 3));
  net.sandbox.replacePolicy({ version: 2, network: both(NAME) });
  const { connections } = net.sandbox.record(null);
  assert.deepEqual(
    connections.map(({ ended }) => ended),
    [null, "policy"],
    "at once",
  );
  assert.equal(connections[1]?.reason, "a.example.org is not allowed by the policy of this sandbox");
  assert.equal(await cut.ended, "reset");
  const before = kept.received.length;
  await until(() => kept.received.length > before + 3);
  assert.equal((await net.relay.open(addresses[1] ?? "", 22)).answer, 1);
  await assert.rejects(net.addressOf("a.example.org"), /has no address/);
  assert.equal(net.sandbox.record(null).policy_version, 2);
  for (const version of [2, 1])
    assert.throws(() => net.sandbox.replacePolicy({ version, network: "none" }), /does not follow 2/);
  net.sandbox.replacePolicy({ version: 3, network: "none" });
  assert.equal(await kept.ended, "reset");
});

test("replacing the policy also ends connections that are about to be made", async (t) => {
  let asked = 0;
  const net = await network(t, allowing(22, 80), {
    dial: (_host, _port, signal) => {
      asked++;
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ kind: "failed", reason: "aborted", address: null })),
      );
    },
  });
  const address = await net.addressOf(NAME);
  const opening = net.relay.open(address, 22);
  const holding = await net.relay.open(address, 80);
  await until(() => asked === 1);
  net.sandbox.replacePolicy({ version: 2, network: "none" });
  assert.equal((await opening).answer, 1);
  assert.equal(await holding.ended, "reset");
  assert.deepEqual(
    net.sandbox.record(null).connections.map(({ ended }) => ended),
    ["policy", "policy"],
  );
});

test("unregistering ends everything, and the token is unknown afterwards", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, allowing(22), to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  await net.sandbox.unregister();
  await stream.ended;
  await until(() => net.relay.control.closed);
  assert.equal(only(net).connection.ended, "sandbox");
  await until(() => [...server.sockets].every((socket) => socket.closed));
  assert.equal((await net.relay.open("127.0.0.1", 22)).answer, null);
  await assert.rejects(FakeRelay.connect(net.path, TOKEN), /is null/);
});

test("without its control connection, a sandbox has no network", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, allowing(22), to(server.port));
  const address = await net.addressOf(NAME);
  await assert.rejects(FakeRelay.connect(net.path, TOKEN), /is 1/, "a second one is refused");
  const stream = await net.relay.open(address, 22);
  assert.equal(stream.answer, 0);
  net.relay.control.destroy();
  await stream.ended;
  await until(() => only(net).connection.ended === "sandbox");
  assert.equal((await net.relay.open(address, 22)).answer, 1);
  const again = await FakeRelay.connect(net.path, TOKEN);
  t.after(() => again.close());
  assert.equal((await again.open(address, 22)).answer, 0);
});

test("an idle connection ends, and one that moves does not", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, allowing(22), to(server.port, { idleMs: 400 }));
  const address = await net.addressOf(NAME);
  const [idle, busy] = await Promise.all([net.relay.open(address, 22), net.relay.open(address, 22)]);
  const writing = setInterval(() => busy.socket.write("x"), 20);
  assert.equal(await idle.ended, "reset");
  clearInterval(writing);
  const ends = net.sandbox.record(null).connections.map(({ ended, reason }) => [ended, reason]);
  assert.deepEqual(
    ends.filter(([ended]) => ended !== null),
    [["idle", "no bytes for 0 s"]],
  );
});

test("a program or server that resets ends the other side", async (t) => {
  const server = await localServer(t, (socket) => socket.once("data", () => socket.resetAndDestroy()));
  const net = await network(t, allowing(22), to(server.port));
  const address = await net.addressOf(NAME);
  const first = await net.relay.open(address, 22);
  first.socket.write("x");
  assert.equal(await first.ended, "reset");
  const second = await net.relay.open(address, 22);
  second.socket.destroy();
  await until(() => [...server.sockets].every((socket) => socket.readableEnded || socket.closed));
  for (const socket of server.sockets) socket.end("into the void");
  await until(() => net.sandbox.record(null).connections.every(({ ended }) => ended !== null));
  assert.deepEqual(
    net.sandbox.record(null).connections.map(({ ended }) => ended),
    ["server", "client"],
  );
});

test("the number of open connections is that of the policy", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, { ...allowing(22), connections: 3 }, to(server.port));
  const address = await net.addressOf(NAME);
  const streams = await Promise.all(Array.from({ length: 5 }, () => net.relay.open(address, 22)));
  assert.deepEqual(streams.map(({ answer }) => answer).sort(), [0, 0, 0, 1, 1]);
  const denied = net.sandbox.record(null).connections.filter(({ decision }) => decision === "denied");
  assert.deepEqual(
    denied.map(({ reason }) => reason),
    Array(2).fill("more than 3 connections at the same time"),
  );
  streams.find(({ answer }) => answer === 0)?.socket.end();
  await until(() => net.sandbox.record(null).connections.some(({ ended }) => ended === "client"));
  assert.equal((await net.relay.open(address, 22)).answer, 0);
});

test("above the connections of a minute, each refusal takes a second", async (t) => {
  const net = await network(t, { ...allowing(22), connections_per_minute: 5 });
  const before = performance.now();
  for (let at = 0; at < 5; at++) assert.equal((await net.relay.open("127.0.0.9", 22)).answer, 1);
  const flood = await Promise.all(Array.from({ length: 20 }, () => net.relay.open("127.0.0.9", 22)));
  assert.deepEqual(new Set(flood.map(({ answer }) => answer)), new Set([1]));
  assert.ok(performance.now() - before >= 990, "refused at once");
  const { connections, denied } = net.sandbox.record(null);
  assert.equal(denied, 25);
  assert.equal(connections.filter(({ reason }) => reason === "more than 5 connections within a minute").length, 20);
});

test("refusals are bounded in the same way if the policy no longer allows a network", async (t) => {
  const net = await network(t, allowing(22));
  net.sandbox.replacePolicy({ version: 2, network: "none" });
  for (let at = 0; at < 600; at += 50)
    await Promise.all(Array.from({ length: 50 }, () => net.relay.open("127.0.0.9", 22)));
  assert.equal((await net.relay.open("127.0.0.9", 22)).answer, 1);
  const reasons = net.sandbox.record(null).connections.map(({ reason }) => reason);
  assert.equal(reasons[0], "127.0.0.9 is not allowed by the policy of this sandbox");
  assert.equal(reasons.at(-1), "more than 600 connections within a minute");
});

test("a relay with too many streams gets no answer to more", async (t) => {
  const net = await network(t, allowing(22));
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => net.relay.open("8.8.8.8", 53)));
  const streams = await open(MAX_STREAMS);
  assert.deepEqual(new Set(streams.map(({ answer }) => answer)), new Set([0]));
  assert.deepEqual(new Set((await open(10)).map(({ answer }) => answer)), new Set([null]));
  streams[0]?.socket.destroy();
  await until(() => streams[0]?.socket.closed === true);
  let answer: number | null = null;
  while (answer === null) answer = (await net.relay.open("8.8.8.8", 53)).answer;
});

test("a slow reader stops the server, and the memory for it is bounded", async (t) => {
  let sent = 0;
  const server = await localServer(t, (socket) => {
    const write = () => {
      if (socket.destroyed) return;
      sent += 65_536;
      if (socket.write(Buffer.alloc(65_536))) setImmediate(write);
      else socket.once("drain", write);
    };
    write();
  });
  const net = await network(t, { ...allowing(22), bytes_down: 2 ** 40 }, to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  stream.socket.pause();
  let last = -1;
  while (sent !== last) {
    last = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  const { bytes_down: forwarded } = net.sandbox.record(null);
  assert.ok(
    forwarded > 0 && forwarded < 1_048_576,
    `${forwarded} bytes, with those in the kernel's buffer of the socket`,
  );
  stream.socket.resume();
  await until(() => sent > last + 1_000_000);
});

test("connections belong to the execution of their cgroup", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, allowing(22), to(server.port));
  const address = await net.addressOf(NAME);
  await net.relay.open(address, 22, 7n);
  await net.relay.open(address, 22, 9n);
  await net.relay.open("10.0.0.1", 22, 9n);
  await net.relay.open(address, 22, 5_000n);
  await net.relay.query(dnsQuery("evil.example.org", TYPES.A), 9n);
  assert.deepEqual(
    [7, 8, 9, null].map((execution) => net.sandbox.record(execution).connections.length),
    [1, 0, 2, 1],
  );
  const record = egressSchema.parse(net.sandbox.record(9));
  assert.equal(record.source, "inet_diag cgroup id");
  assert.deepEqual(record.refused_names, [{ name: "evil.example.org", queries: 1 }]);
  assert.deepEqual([record.denied, record.dns], [1, { answered: 0, refused: 1 }]);
});

test("answers queries over TCP to any address, and closes what is not DNS", async (t) => {
  const net = await network(t, allowing(22));
  const framed = (message: Buffer) => Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message]);
  const stream = await net.relay.open("8.8.8.8", 53);
  assert.equal(stream.answer, 0);
  const query = Buffer.concat([dnsQuery(NAME, TYPES.A, { id: 1 }), Buffer.alloc(0)]);
  stream.socket.write(Buffer.concat([framed(query), framed(dnsQuery("evil.example.org", TYPES.A, { id: 2 }))]));
  await until(() => Buffer.concat(stream.received).length > 100);
  const all = Buffer.concat(stream.received);
  const first = all.subarray(2, 2 + all.readUInt16BE(0));
  const second = all.subarray(4 + first.length);
  assert.deepEqual(
    [first, second].map((bytes) => [dnsMessage(bytes).id, dnsMessage(bytes).rcode]),
    [
      [1, 0],
      [2, 3],
    ],
  );
  stream.socket.end();
  assert.equal(await stream.ended, "closed");
  const wrong = await net.relay.open("8.8.8.8", 53);
  wrong.socket.write("GET / HTTP/1.1\r\n\r\n");
  assert.equal(await wrong.ended, "closed");
  assert.equal(wrong.received.length, 0);
  assert.deepEqual(net.sandbox.record(null).dns, { answered: 1, refused: 1 });
  assert.deepEqual(net.sandbox.record(null).connections, [], "no connection to the network");
});

test("all queries of a TCP connection are answered, also if it ends before", async (t) => {
  const net = await network(t, allowing(22));
  const stream = await net.relay.open("8.8.8.8", 53);
  const queries = Array.from({ length: 120 }, (_, id) => dnsQuery(NAME, TYPES.A, { id }));
  stream.socket.end(
    Buffer.concat(queries.flatMap((query) => [Buffer.of(query.length >> 8, query.length & 255), query])),
  );
  assert.equal(await stream.ended, "closed");
  assert.equal(net.sandbox.record(null).dns.answered, 120);
  const bytes = Buffer.concat(stream.received);
  assert.equal(bytes.length, 120 * (2 + bytes.readUInt16BE(0)));
});

test("a flood of queries is answered at a bounded pace, and each query once", async (t) => {
  const net = await network(t, allowing(22));
  const before = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 175 }, (_, at) => net.relay.query(dnsQuery(`n${at}.evil.test`, TYPES.A, { id: at }))),
  );
  assert.ok(performance.now() - before >= 290, "four windows of 100 ms, of which the first may have begun before");
  assert.deepEqual(
    answers.map((bytes) => dnsMessage(bytes).id),
    Array.from({ length: 175 }, (_, at) => at),
  );
  assert.equal((await net.relay.query(Buffer.of(1, 2, 3))).length, 0, "what is not a query gets an empty answer");
});

test("headers that are not valid, unknown tokens and late headers are closed without an answer", async (t) => {
  const net = await network(t, allowing(22), { headerMs: 300 });
  const valid = encodeHeader({
    kind: "stream",
    token: TOKEN,
    streamId: 1n,
    cgroupId: 0n,
    destination: destinationBytes("10.0.0.1"),
    port: 22,
    sourcePort: 1,
  });
  assert.equal((await begin(net.path, valid)).answer, 1);
  const changed = (at: number, value: number) => {
    const bytes = Buffer.from(valid);
    bytes[at] = value;
    return bytes;
  };
  for (const [at, value] of [
    [0, 0x42],
    [4, 2],
    [5, 0],
    [5, 2],
    [5, 3],
    [6, 1],
    [7, 1],
    [8, 0],
    [8, 0x2f],
    [39, 0x77],
    [73, 0],
    [76, 1],
    [79, 1],
  ] as const)
    assert.equal((await begin(net.path, changed(at, value))).answer, null, `byte ${at} is ${value}`);
  const silent = await begin(net.path, Buffer.alloc(0));
  assert.equal(silent.answer, null);
  const slow = connect(net.path);
  slow.on("error", () => {});
  let sent = 0;
  const drip = setInterval(() => slow.write(valid.subarray(sent, ++sent % 79)), 20);
  await new Promise((resolve) => slow.once("close", resolve));
  clearInterval(drip);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 80, maxLength: 90 }), fc.boolean(), async (bytes, hasMagic) => {
      const header = Buffer.from(bytes);
      if (hasMagic) valid.copy(header, 0, 0, 40);
      const { socket, answer } = await begin(net.path, header);
      assert.ok(answer === null || answer === 1);
      socket.destroy();
    }),
    { numRuns: 200 },
  );
  assert.equal((await begin(net.path, valid)).answer, 1, "still serves");
});

test("a relay that sends frames that are not valid loses its network", async (t) => {
  for (const frame of [
    Buffer.of(0, 0),
    Buffer.of(0xff, 0xff),
    Buffer.concat([Buffer.of(0, 22, 9), Buffer.alloc(21)]),
    Buffer.concat([Buffer.of(0, 14, 1), Buffer.alloc(13)]),
  ]) {
    const net = await network(t, allowing(22));
    net.relay.control.write(frame);
    await until(() => net.relay.control.closed);
    assert.equal((await net.relay.open("10.0.0.1", 22)).answer, 1);
    assert.deepEqual(net.sandbox.record(null).connections, []);
  }
});

test("connections without a header never keep out those with one", async (t) => {
  const net = await network(t, allowing(22), { headerMs: 600_000 });
  const sockets: Socket[] = [];
  for (let at = 0; at < 300; at++) {
    const socket = connect(net.path);
    socket.on("error", () => {});
    sockets.push(socket);
  }
  await until(() => sockets.filter((socket) => socket.closed || socket.readableEnded).length >= 44);
  assert.equal((await net.relay.open("10.0.0.1", 22)).answer, 1);
  for (const socket of sockets) socket.destroy();
});

test("two sandboxes share nothing but the proxy", async (t) => {
  const server = await localServer(t, echo);
  const net = await network(t, allowing(22), to(server.port));
  const other = await network(t, { allow: [{ host: "other.example.com", ports: [22] }] });
  const token = "x".repeat(32);
  const { budgets, policy } = other.sandbox;
  const second = net.proxy.register({ token, policy, budgets, log: other.log, executionOf: () => null });
  assert.throws(
    () => net.proxy.register({ token, policy, budgets, log: other.log, executionOf: () => null }),
    /in use/,
  );
  const relay = await FakeRelay.connect(net.path, token);
  t.after(() => relay.close());
  const address = await net.addressOf(NAME);
  assert.equal((await relay.open(address, 22)).answer, 1, "the address of a name of another sandbox");
  assert.equal(net.sandbox.record(null).connections.length, 0);
  const stream = await net.relay.open(address, 22);
  await second.unregister();
  stream.socket.write("still here");
  await until(() => text(stream) === "still here");
});

test("moves data unchanged in both directions, and prints how fast", async (t) => {
  const bytes = 64 * 1024 * 1024;
  const server = await localServer(t, (socket) => {
    const hash = createHash("sha256");
    socket.on("data", (chunk: Buffer) => {
      hash.update(chunk);
      if (!socket.write(chunk)) {
        socket.pause();
        socket.once("drain", () => socket.resume());
      }
    });
    socket.on("end", () => socket.end(hash.digest("hex")));
  });
  const net = await network(t, { ...allowing(22), bytes_up: 2 ** 40, bytes_down: 2 ** 40 }, to(server.port));
  const stream = await net.relay.open(await net.addressOf(NAME), 22);
  const [sent, got] = [createHash("sha256"), createHash("sha256")];
  let tail = "";
  let received = 0;
  stream.socket.on("data", (chunk: Buffer) => {
    const rest = Math.max(0, Math.min(chunk.length, bytes - received));
    got.update(chunk.subarray(0, rest));
    tail += chunk.toString("latin1", rest);
    received += chunk.length;
    stream.received.length = 0;
  });
  const before = process.cpuUsage();
  for (let at = 0; at < bytes; at += 1_048_576) {
    const chunk = randomBytes(1_048_576);
    sent.update(chunk);
    if (!stream.socket.write(chunk)) await new Promise((resolve) => stream.socket.once("drain", resolve));
  }
  stream.socket.end();
  assert.equal(await stream.ended, "closed");
  const expected = sent.digest("hex");
  assert.equal(got.digest("hex"), expected, "what came back");
  assert.equal(tail, expected, "what the server got");
  const { user, system } = process.cpuUsage(before);
  t.diagnostic(
    `${Math.round((2 * bytes) / (user + system))} MB for each second of CPU time, with the program, the relay and the server, which hash everything`,
  );
});

test("prints how much a core forwards, and how long the first byte takes", async (t) => {
  const bytes = 256 * 1024 * 1024;
  const chunk = Buffer.alloc(1_048_576);
  const server = await localServer(t, (socket) => {
    socket.once("data", (first: Buffer) => {
      if (first.toString() === "x") {
        socket.write("x");
        return;
      }
      let left = bytes;
      const write = () => {
        for (; left > 0; left -= chunk.length) if (!socket.write(chunk)) break;
        if (left > 0) socket.once("drain", write);
        else socket.end();
        left -= chunk.length;
      };
      write();
    });
  });
  const net = await network(t, { ...allowing(22), bytes_down: 2 ** 40 }, to(server.port));
  const address = await net.addressOf(NAME);
  const stream = await net.relay.open(address, 22);
  let received = 0;
  stream.socket.on("data", (part: Buffer) => {
    received += part.length;
    stream.received.length = 0;
  });
  const before = process.cpuUsage();
  stream.socket.end("all");
  await stream.ended;
  const { user, system } = process.cpuUsage(before);
  assert.ok(received >= bytes - chunk.length && received <= bytes + chunk.length, `${received} bytes`);
  t.diagnostic(
    `${Math.round(received / (user + system))} MB for each second of CPU time, with the program, the relay and the server`,
  );
  const timed = async (make: () => Promise<Socket> | Socket) => {
    const times: number[] = [];
    for (let at = 0; at < 50; at++) {
      const begun = performance.now();
      const socket = await make();
      socket.write("x");
      await new Promise((resolve) => socket.once("data", resolve));
      times.push(performance.now() - begun);
      socket.destroy();
    }
    return times.sort((a, b) => a - b)[25] ?? 0;
  };
  const direct = await timed(() => connect(server.port, "127.0.0.1"));
  const relayed = await timed(async () => (await net.relay.open(address, 22)).socket);
  t.diagnostic(
    `the first byte of a connection after ${direct.toFixed(2)} ms, and after ${relayed.toFixed(2)} ms through the proxy (medians)`,
  );
});
