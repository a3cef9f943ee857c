import assert from "node:assert/strict";
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import tls, { type TLSSocket } from "node:tls";
import { type SandboxRefusalCode, SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { type LinkIdentity, newIdentity } from "../../../src/link/certificate.ts";
import { LinkClient } from "../../../src/link/client.ts";
import { METHODS } from "../../../src/link/methods.ts";
import { askingSession } from "../../../src/link/sessions.ts";
import { type Direction, dial, linkServer, PROTOCOLS } from "../../../src/link/tls.ts";
import type { Store } from "../../../src/store/store.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { sharedDatabase, startServiceLink, startWorkerLink, untilLinked } from "../../support/link/linked.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { addKey } from "../../support/store/temporary.ts";

const LEASE_MS = 600_000;
const never = new AbortController().signal;

const refused = (code: SandboxRefusalCode) => (error: unknown) => {
  assert.ok(error instanceof SandboxRefused, String(error));
  assert.equal(error.code, code);
  return true;
};

async function started(t: TestContext) {
  const { store, another } = await sharedDatabase(t);
  const key = await addKey(store, "one");
  return { store, another, key };
}

/** Announces a process that the test plays. */
async function announced(
  store: Store,
  identity: LinkIdentity,
  { id = randomUUID() as string, address = null as string | null, isService = false, sandboxes = 0 } = {},
): Promise<string> {
  const capacity = sandboxes > 0 ? { sandboxes, memoryBytes: 2 ** 33, cpus: 2, diskBytes: 0, network: false } : null;
  const { fingerprint } = identity;
  await store.links.announce({ id, fingerprint, address, isService, capacity, snapshotStore: null }, LEASE_MS);
  return id;
}

/** A connection to a link; null if the other side has closed it, or said nothing else than that it does not accept it. */
async function connected(
  port: number,
  fingerprint: string,
  identity: LinkIdentity,
  direction: Direction = "use",
): Promise<LinkClient | null> {
  try {
    const socket = await dial({ host: "127.0.0.1", port }, fingerprint, direction, identity, never);
    return new LinkClient(askingSession(socket), () => {});
  } catch {
    return null;
  }
}

async function isServed(client: LinkClient | null): Promise<boolean> {
  const target = { id: randomUUID(), accountId: randomUUID(), uses: false };
  const answer = await client?.call("find", target, {}).catch((error: unknown) => error);
  client?.destroy();
  return SandboxRefused.is(answer, "sandboxNotFound");
}

test("only services that live, with the key of their announcement, may ask", async (t) => {
  const { store } = await started(t);
  const { port, fingerprint } = await startWorkerLink(t, "dialled", {
    store,
    id: "memory",
    host: new MemorySandboxes(store),
  });
  const [service, worker, unknown, gone] = [newIdentity(), newIdentity(), newIdentity(), newIdentity()];
  await announced(store, service, { isService: true });
  await announced(store, worker, { sandboxes: 3 });
  await store.links.leave(await announced(store, gone, { isService: true }));
  await sleep(600); // unknown keys let the announcements be read again, but not more often
  assert.equal(await isServed(await connected(port, fingerprint, service)), true);
  assert.equal(await isServed(await connected(port, fingerprint, worker)), false, "a worker asks nobody");
  assert.equal(await isServed(await connected(port, fingerprint, unknown)), false);
  assert.equal(await isServed(await connected(port, fingerprint, gone)), false);
  assert.equal(
    await isServed(await connected(port, fingerprint, { ...service, cert: unknown.cert, key: unknown.key })),
    false,
  );
  // The certificate of a service without its key proves nothing.
  assert.throws(() => tls.createSecureContext({ cert: service.cert, key: unknown.key }));
  // A process that listens for others is not asked by workers over their own connection either.
  assert.equal(await isServed(await connected(port, fingerprint, worker, "offer")), false);
});

test("a connection without a certificate, with an older TLS or without our protocol is not served", async (t) => {
  const { store } = await started(t);
  const { port } = await startWorkerLink(t, "dialled", { store, id: "memory", host: new MemorySandboxes(store) });
  const service = newIdentity();
  await announced(store, service, { isService: true });
  const attempt = async (options: tls.ConnectionOptions) => {
    const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.once("secureConnect", () => socket.write(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")));
    await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  };
  const { key, cert } = service;
  await attempt({ ALPNProtocols: [PROTOCOLS.use] });
  await attempt({ key, cert, ALPNProtocols: ["h2"] });
  await attempt({ key, cert });
  await attempt({ key, cert, ALPNProtocols: [PROTOCOLS.use], maxVersion: "TLSv1.2" });
});

/** A server at the address of a process, with another key. It keeps what it was sent. */
async function impostor(t: TestContext, identity: LinkIdentity) {
  const server = linkServer(identity);
  const got: Buffer[] = [];
  let connections = 0;
  // The client can leave before the handshake is over for this side.
  server.on("connection", () => connections++);
  server.on("secureConnection", (socket: TLSSocket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => got.push(bytes));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    got: () => Buffer.concat(got),
  };
}

test("a service sends nothing to whoever answers at the address of a process with another key", async (t) => {
  const { store, key } = await started(t);
  const middle = await impostor(t, newIdentity());
  await announced(store, newIdentity(), { id: "memory", address: middle.address, sandboxes: 3 });
  const memory = new MemorySandboxes(store);
  const { id } = await memory.create(sandboxRequest(), callerOf(key), null);
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  while (middle.connections() < 2) await sleep(20);
  assert.equal(middle.got().length, 0);
  assert.deepEqual([link.hosts, sandboxes.capacity], [[], null]);
  await assert.rejects(sandboxes.find(id, key.accountId), refused("sandboxUnreachable"));
});

test("a worker offers nothing to whoever answers at the address of a service with another key", async (t) => {
  const { store } = await started(t);
  const middle = await impostor(t, newIdentity());
  await announced(store, newIdentity(), { address: middle.address, isService: true });
  const link = await startWorkerLink(t, "reverse", { store, id: "memory", host: new MemorySandboxes(store) });
  while (middle.connections() < 2) await sleep(20);
  assert.equal(middle.got().length, 0);
  assert.deepEqual(link.services, []);
});

test("the link of a process ends when its announcement is withdrawn, also in the middle of a call", async (t) => {
  const { store, another, key } = await started(t);
  const memory = new MemorySandboxes(store);
  const worker = await startWorkerLink(t, "dialled", { store: await another(), id: "memory", host: memory });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  // The process accepts the service a moment after the service has its connection.
  await untilLinked(worker, () => worker.services.length === 1);
  await untilLinked(link, () => link.hosts.length === 1);
  const { id } = await memory.create(sandboxRequest(), callerOf(key), null);
  const handle = await sandboxes.find(id, key.accountId);
  const cat = await handle.execute(shellRequest("cat", { openInput: true }));
  const watched = await handle.files.watch("/home/user", true, never);
  const event = watched[Symbol.asyncIterator]().next();
  await store.links.leave("memory");
  await assert.rejects(event, refused("sandboxUnreachable"));
  await assert.rejects(cat.input(Buffer.from("x")), refused("sandboxUnreachable"));
  await untilLinked(worker, () => worker.services.length === 0);
});

/** A process with sandboxes that the test plays: it answers each call as `answer` says. */
async function hostile(
  t: TestContext,
  store: Store,
  answer: (stream: http2.ServerHttp2Stream, method: string) => void,
) {
  const identity = newIdentity();
  const server = linkServer(identity);
  server.on("secureConnection", (socket) => {
    socket.on("error", () => {});
    const session = http2.performServerHandshake(socket);
    session.on("error", () => {});
    session.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      stream.resume();
      answer(stream, String(headers[":path"]).slice(1));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await announced(store, identity, { id: "memory", address: `127.0.0.1:${port}`, sandboxes: 3 });
  return async () => {
    const client = await connected(port, identity.fingerprint, newIdentity());
    assert.ok(client);
    return client;
  };
}

function message(kind: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(5);
  header.writeUInt8(kind, 0);
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

test("a process that answers what the protocol does not have is not asked again, and harms nobody", async (t) => {
  const { store } = await started(t);
  let reply: Buffer = Buffer.alloc(0);
  const connect = await hostile(t, store, (stream) => {
    stream.respond({ ":status": 200 });
    stream.end(reply);
  });
  const value = (json: unknown) => message(1, JSON.stringify(json));
  const end = message(3, "");
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const replies = [
    value({ id: 1 }),
    value(null),
    message(1, deep),
    message(1, "{"),
    message(7, "x"),
    message(2, "bytes"),
    end,
    message(4, '{"kind":"refused","code":"idempotencyConflict","details":{}}'),
    message(4, '{"kind":"refused","code":"sandboxEnded","details":{"reason":"constructor"}}'),
    message(4, '{"kind":"refused","code":"__proto__","details":{}}'),
    message(4, '{"kind":"file","code":"notFound","path":1,"detail":""}'),
    Buffer.from([1, 0xff, 0xff, 0xff, 0xff]),
  ];
  for (const one of replies) {
    reply = one;
    const client = await connect();
    const target = { id: randomUUID(), accountId: randomUUID(), uses: false };
    await assert.rejects(client.call("measure", target, {}), /ProtocolViolation/);
    assert.equal(client.isOpen, false, `after ${one.subarray(0, 60)}`);
  }
  for (const cut of [Buffer.alloc(0), message(1, "{}").subarray(0, 6)]) {
    reply = cut;
    const client = await connect();
    const target = { id: randomUUID(), accountId: randomUUID(), uses: false };
    await assert.rejects(client.call("measure", target, {}), /CutOff/);
    client.destroy();
  }
});

test("random answers to every method end in an error of the link", async (t) => {
  const { store } = await started(t);
  const connect = await hostile(t, store, (stream) => {
    stream.respond({ ":status": randomInt(3) === 0 ? 404 : 200 });
    const parts = Array.from({ length: randomInt(4) }, () => {
      const content =
        randomInt(2) === 0 ? randomBytes(randomInt(40)) : JSON.stringify({ kind: "failed", id: "x", entries: [] });
      return randomInt(3) === 0 ? randomBytes(randomInt(30)) : message(randomInt(6), content);
    });
    stream.end(Buffer.concat(parts));
  });
  const names = Object.keys(METHODS) as (keyof typeof METHODS)[];
  const target = { id: randomUUID(), accountId: randomUUID(), uses: false };
  const args: Record<string, unknown> = {
    number: 1,
    name: "SIGTERM",
    rows: 1,
    cols: 1,
    stdout: 0,
    stderr: 0,
    path: "x",
    from: "x",
    to: "x",
    follow: true,
    recursive: true,
    after: null,
    most: 10,
    range: null,
    options: {},
    env: {},
    keyId: "key",
    policy: "none",
    request: shellRequest("x"),
  };
  let client = await connect();
  for (let round = 0; round < 300; round++) {
    const name = names[round % names.length] as "measure";
    const fields = (METHODS[name].args as unknown as { readonly shape: object }).shape;
    const given = Object.fromEntries(Object.keys(fields).flatMap((key) => (key in args ? [[key, args[key]]] : [])));
    if (!client.isOpen) client = await connect();
    const error = await client
      .call(name, target, given as never)
      .then(async ({ items }) => {
        for await (const _ of items);
        return null;
      })
      .catch((thrown: unknown) => thrown);
    if (error !== null) assert.match(String(error), /^(ProtocolViolation|CutOff|RemoteFailure): /, name);
  }
  client.destroy(); // the last answer can have been one that leaves the connection open
});

test("a process cannot answer about a sandbox or an execution that it was not asked for", async (t) => {
  const { store, key } = await started(t);
  const memory = new MemorySandboxes(store);
  const [mine, other] = [
    await memory.create(sandboxRequest(), callerOf(key), null),
    await memory.create(sandboxRequest(), callerOf(key), null),
  ];
  const answers: Record<string, unknown> = { find: other };
  await hostile(t, store, (stream, method) => {
    stream.respond({ ":status": 200 });
    stream.end(Buffer.concat([message(1, JSON.stringify(answers[method])), message(3, "")]));
  });
  const { link, sandboxes } = await startServiceLink(t, "dialled", { store });
  await untilLinked(link, () => link.hosts.length === 1);
  await assert.rejects(
    sandboxes.find(mine.id, key.accountId),
    /RemoteFailure: the other process answered about another/,
  );
  answers.find = mine;
  const handle = await sandboxes.find(mine.id, key.accountId);
  const running = await (await memory.find(other.id, key.accountId)).execute(shellRequest("wait"));
  answers.execute = { ...running.execution };
  await assert.rejects(handle.execute(shellRequest("x")), /RemoteFailure: the other process answered about another/);
});

test("a service that sends what the protocol does not have is cut off, and the process goes on", async (t) => {
  const { store } = await started(t);
  const { port, fingerprint } = await startWorkerLink(t, "dialled", {
    store,
    id: "memory",
    host: new MemorySandboxes(store),
  });
  const identity = newIdentity();
  await announced(store, identity, { isService: true });
  const envelope = { id: "x", accountId: "y", uses: false };
  const requests: [string, Buffer][] = [
    ["find", randomBytes(50)],
    ["find", message(1, JSON.stringify({ ...envelope, args: { more: 1 } }))],
    ["find", message(1, JSON.stringify({ ...envelope, args: {}, more: 1 }))],
    ["find", Buffer.concat([message(1, JSON.stringify({ ...envelope, args: {} })), message(2, "more")])],
    ["find", Buffer.from([1, 0x7f, 0xff, 0xff, 0xff])],
    ["constructor", message(1, "{}")],
    ["", message(1, "{}")],
    ["write", message(3, "")],
  ];
  for (const [path, body] of requests) {
    const socket = await dial({ host: "127.0.0.1", port }, fingerprint, "use", identity, never);
    const session = askingSession(socket);
    const stream = session.request({ ":method": "POST", ":path": `/${path}` }, { endStream: false });
    stream.on("error", () => {});
    stream.resume();
    stream.end(body);
    await once(stream, "close");
    session.destroy();
  }
  assert.equal(await isServed(await connected(port, fingerprint, identity)), true);
});
