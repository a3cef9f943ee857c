import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { newIdentity } from "../../../src/link/certificate.ts";
import { LinkClient, MOST_CALLS } from "../../../src/link/client.ts";
import { CutOff } from "../../../src/link/messages.ts";
import type { LinkedHost } from "../../../src/link/methods.ts";
import { askingSession } from "../../../src/link/sessions.ts";
import { dial } from "../../../src/link/tls.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { sharedDatabase, startServiceLink, startWorkerLink, untilLinked } from "../../support/link/linked.ts";

/* Rows of the table in docs/security.md#links that no other file tries. */

const MOST_UNPROVEN = 64;
const target = () => ({ id: randomUUID(), accountId: randomUUID(), uses: false });

test("silent connections take 64 places, end by themselves, and then a service is served", async (t) => {
  const { store, another } = await sharedDatabase(t);
  const worker = await startWorkerLink(t, "dialled", { store, id: "memory", host: new MemorySandboxes(store) });
  const opened = async (): Promise<Socket> => {
    const socket = connect({ host: "127.0.0.1", port: worker.port });
    socket.on("error", () => {});
    socket.on("data", () => {});
    t.after(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  const silent: Socket[] = [];
  for (let n = 0; n < MOST_UNPROVEN; n++) silent.push(await opened());
  const ended = silent.map((socket) => once(socket, "close"));
  await once(await opened(), "close");
  assert.equal(silent.filter((socket) => socket.closed).length, 0, "one more is refused, and none of the others");
  await Promise.all(ended);
  const { link } = await startServiceLink(t, "dialled", { store: await another() });
  await untilLinked(link, () => link.client("memory") !== null);
});

test("a link has 2,048 calls at the same time, each of which waits for its result for 20 s", async (t) => {
  const { store } = await sharedDatabase(t);
  let asked = 0;
  const host = {
    find: () => {
      asked++;
      return new Promise(() => {});
    },
  } as unknown as LinkedHost;
  const service = newIdentity();
  await store.links.announce(
    {
      id: "asks",
      fingerprint: service.fingerprint,
      address: null,
      isService: true,
      capacity: null,
      snapshotStore: null,
    },
    600_000,
  );
  // After the announcement: a process does not read announcements again for every unknown certificate.
  const { port, fingerprint } = await startWorkerLink(t, "dialled", { store, id: "silent", host });
  const socket = await dial({ host: "127.0.0.1", port }, fingerprint, "use", service, new AbortController().signal);
  const session = askingSession(socket);
  const client = new LinkClient(session, () => {});
  t.after(() => client.destroy());
  const [settings] = (await once(session, "remoteSettings", { signal: AbortSignal.timeout(60_000) })) as [
    { maxConcurrentStreams?: number },
  ];
  assert.equal(settings.maxConcurrentStreams, MOST_CALLS, "the other side refuses more as well");
  const beganMs = performance.now();
  const calls = Array.from({ length: MOST_CALLS }, () => client.call("find", target(), {}));
  const ends = Promise.allSettled(calls);
  await assert.rejects(client.call("find", target(), {}), /too many calls/);
  for (const { reason } of (await ends) as PromiseRejectedResult[]) assert.ok(reason instanceof CutOff, String(reason));
  assert.equal(asked, MOST_CALLS);
  assert.ok(performance.now() - beganMs >= 19_000, "none ends before its time");
  assert.ok(client.isOpen, "the link goes on");
});
