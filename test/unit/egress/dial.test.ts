import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Cidr } from "../../../src/domain/egress/cidr.ts";
import { parseCidrList } from "../../../src/domain/egress/cidr.ts";
import { DIAL_TIMES, type DialOptions, dial, whyNotReachable } from "../../../src/egress/dial.ts";
import { localServer } from "../../support/egress/network.ts";
import { NOT_GLOBAL_4, NOT_GLOBAL_6 } from "../../support/network/addresses.ts";

const never = new AbortController().signal;

function networks(text: string): readonly Cidr[] {
  const parsed = parseCidrList(text);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

function options(addresses: readonly string[] | Error, more: Partial<DialOptions> = {}): DialOptions {
  const resolve = async () => {
    if (addresses instanceof Error) throw addresses;
    return addresses;
  };
  return { resolve, privateNetworks: networks("127.0.0.0/8"), ...DIAL_TIMES, ...more };
}

/** Notations that some program reads as an address of this machine, of a private network, or of a metadata service. */
const NOTATIONS = [
  ...[
    "127.1",
    "127.0.1",
    "127.000.000.001",
    "0127.0.0.1",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f.1",
    "0x7f000001",
    "0X7F000001",
    "2130706433",
    "017700000001",
    "00000000177.0.0.1",
  ],
  ...[
    "127.0.0.1.",
    "127.0.0.1:80",
    "127.0.0.1/8",
    " 127.0.0.1",
    "127.0.0.1 ",
    "127.0.0.1\0",
    "127.0.0.1%00",
    "127.0.0.1%lo",
    "127。0。0。1",
    "１２７.0.0.1",
    "①②⑦.⓪.⓪.①",
    "127\uff0e0\uff0e0\uff0e1",
  ],
  ...[
    "0",
    "0.0",
    "0x0",
    "00000000000",
    "10.1",
    "012.0.0.1",
    "0xa.0.0.1",
    "167772161",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "192.168.257",
    "3232235521",
  ],
  ...[
    "[::1]",
    "::1%lo",
    "::1%1",
    "fe80::1%eth0",
    "0:0:0:0:0:0:0:0001",
    "0000:0000:0000:0000:0000:0000:0000:0001",
    "::0.0.0.1",
    "0::1",
    "::ffff:0x7f.0.0.1",
    "::ffff:127.1",
    "::ffff:0127.0.0.1",
    "::FFFF:7F00:0001",
    "::ffff:0:127.0.0.1",
  ],
  ...[
    "64:ff9b::7f00:1",
    "64:FF9B::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "fd00:ec2::254",
    "FD00:EC2::254",
    "::",
    "localhost",
    "1.1.1.1/32",
    "",
    "::1\0",
  ],
];

test("no notation of an address that is not public can be reached", () => {
  const all = [...NOTATIONS, ...NOT_GLOBAL_4, ...NOT_GLOBAL_6];
  assert.ok(NOTATIONS.length >= 60);
  for (const address of all) assert.equal(typeof whyNotReachable(address, []), "string", JSON.stringify(address));
  for (const address of ["1.1.1.1", "93.184.215.14", "2606:4700::1111"])
    assert.equal(whyNotReachable(address, []), null);
});

test("no connection is made to a name with such an address, wherever it is in the response", async () => {
  for (const address of [...NOTATIONS, ...NOT_GLOBAL_4, ...NOT_GLOBAL_6]) {
    for (const addresses of [[address], ["1.1.1.1", "2606:4700::1111", address]]) {
      const dialed = await dial("api.example.com", 1, options(addresses, { privateNetworks: [] }), never);
      assert.equal(dialed.kind, "refused", JSON.stringify(addresses));
      assert.match(
        dialed.kind === "refused" ? dialed.reason : "",
        /^only public addresses are allowed: api\.example\.com, /,
      );
    }
  }
});

test("an operator's network is exactly its addresses, in no other notation", () => {
  const own = networks("127.0.0.0/8, 10.1.0.0/16,fd12::/16");
  for (const address of ["127.0.0.1", "10.1.2.3", "fd12:3456::1"]) assert.equal(whyNotReachable(address, own), null);
  const others = [
    "10.2.0.0",
    "10.0.255.255",
    "192.168.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "fd13::1",
    "127.1",
    "0x7f.1",
    "010.1.2.3",
    "64:ff9b::10.1.2.3",
    "fd12::1%eth0",
  ];
  for (const address of others) assert.equal(typeof whyNotReachable(address, own), "string", address);
});

test("the operator's networks are parsed strictly", () => {
  assert.deepEqual(networks(""), []);
  assert.deepEqual(networks(" "), []);
  assert.deepEqual(
    networks("10.0.0.0/8").map(({ text }) => text),
    ["10.0.0.0/8"],
  );
  assert.deepEqual(
    networks("0.0.0.0/0").map(({ text }) => text),
    ["0.0.0.0/0"],
    "an operator may name everything",
  );
  for (const text of [
    "10.0.0.1/8",
    "10.0.0.0",
    "10/8",
    "10.0.0.0/8,",
    ",10.0.0.0/8",
    "10.0.0.0/8;10.1.0.0/16",
    "10.0.0.0/8 10.1.0.0/16",
    "example.org",
    "*",
    "::ffff:10.0.0.0/104",
    "::/0",
  ])
    assert.equal(typeof parseCidrList(text), "string", text);
  assert.equal(
    parseCidrList("10.0.0.0/8,10.0.0.1/8"),
    '"10.0.0.1/8" has bits after its prefix: the network is 10.0.0.0/8',
  );
});

test("connects to the checked address, without delay, with both directions open", async (t) => {
  const server = await localServer(t, (socket) => socket.end("hello"));
  const dialed = await dial("api.example.com", server.port, options(["127.0.0.1"]), never);
  assert.ok(dialed.kind === "connected");
  assert.equal(dialed.address, "127.0.0.1");
  assert.equal(dialed.connection.socket.remoteAddress, "127.0.0.1");
  assert.equal(dialed.connection.socket.allowHalfOpen, true);
  assert.equal(dialed.connection.socket.bytesRead, 0, "read before anybody asked");
  dialed.connection.socket.resume();
  await new Promise((resolve) => dialed.connection.socket.once("end", resolve));
  assert.ok(dialed.connection.socket.writable);
  dialed.connection.socket.destroy();
});

test("an address is dialled without resolving it", async (t) => {
  const server = await localServer(t, (socket) => socket.end());
  const dialed = await dial("127.0.0.1", server.port, options(new Error("resolved")), never);
  assert.ok(dialed.kind === "connected");
  dialed.connection.socket.destroy();
  assert.deepEqual(await dial("10.0.0.1", 1, options(new Error("resolved")), never), {
    kind: "refused",
    reason: "only public addresses are allowed: 10.0.0.1 is private",
  });
});

test("tries the next address, at most four, and reports the last failure", async (t) => {
  const accepted: string[] = [];
  const server = createServer((socket) => {
    accepted.push(socket.localAddress ?? "");
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.4", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const addresses = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"];
  const dialed = await dial("api.example.com", port, options(addresses), never);
  assert.ok(dialed.kind === "connected");
  assert.equal(dialed.address, "127.0.0.4");
  dialed.connection.socket.destroy();
  const failed = await dial("api.example.com", port, options(["127.0.0.5", ...addresses]), never);
  assert.equal(failed.kind, "failed");
  assert.equal(failed.kind === "failed" && failed.address, "127.0.0.3");
  assert.match(
    failed.kind === "failed" ? failed.reason : "",
    /^no connection to api\.example\.com: connect ECONNREFUSED 127\.0\.0\.3/,
  );
});

test("a name without addresses, or that cannot be resolved, has failed", async () => {
  assert.deepEqual(await dial("api.example.com", 1, options([]), never), {
    kind: "failed",
    reason: "api.example.com has no address",
    address: null,
  });
  assert.deepEqual(await dial("api.example.com", 1, options(new Error("DNS: api.example.com not found")), never), {
    kind: "failed",
    reason: "DNS: api.example.com not found",
    address: null,
  });
});

test("a resolution without end, and a signal, end the attempt", async () => {
  const hang = (_name: string, signal?: AbortSignal) =>
    new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(new Error("cancelled"))));
  const late = await dial("api.example.com", 1, options([], { resolve: hang, totalMs: 50 }), never);
  assert.deepEqual(late, { kind: "failed", reason: "api.example.com could not be resolved in time", address: null });
  const stop = new AbortController();
  const attempt = dial("api.example.com", 1, options([], { resolve: hang }), stop.signal);
  stop.abort();
  assert.equal((await attempt).kind, "failed");
  const before = await dial("127.0.0.1", 1, options([]), AbortSignal.abort());
  assert.equal(before.kind, "failed");
});

/** Listens, but never accepts: a thread that stops after it has begun to listen. */
const DEAF = `
  const { createServer } = require("node:net");
  const { parentPort } = require("node:worker_threads");
  const server = createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

test("an address that does not answer is given up after its time", async (t) => {
  const thread = new Worker(DEAF, { eval: true });
  t.after(() => thread.terminate());
  const [port] = (await once(thread, "message")) as [number];
  const slow = { ...options(["127.0.0.1"]), connectMs: 100 };
  // The kernel accepts some connections for the thread, until its queue is full.
  for (;;) {
    const dialed = await dial("api.example.com", port, slow, never);
    if (dialed.kind === "connected") {
      t.after(() => dialed.connection.socket.destroy());
      continue;
    }
    assert.deepEqual(dialed, {
      kind: "failed",
      reason: "no connection to api.example.com: no response in time",
      address: "127.0.0.1",
    });
    break;
  }
  const two = { ...options(["127.0.0.1", "127.0.0.2"]), connectMs: 60_000, totalMs: 100 };
  const late = await dial("api.example.com", port, two, never);
  assert.deepEqual(late, {
    kind: "failed",
    reason: "no connection to api.example.com: no response in time",
    address: "127.0.0.1",
  });
});
