import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { type Ask, startHttp } from "../../support/http/running.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { keeperOf } from "../../support/sandboxes/keeper.ts";

const MIB = 1_048_576;
/** More than the tests need, because an account may not have all of them. */
const SANDBOXES = 16;
const LIMITS = { memory_bytes: 128 * MIB, disk_bytes: 16 * MIB };

// On SQLite only: these tests are about the clocks of a keeper with real boxes. What the routes answer is tested on both databases in
// test/integration/http/sandbox-ends.test.ts.

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 1, sandboxes: SANDBOXES, sandboxMemory: SANDBOXES * 128 * MIB });
});
after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
});

/** The real server, with sandboxes of the real launcher. */
async function start(t: TestContext) {
  const running = await startHttp(t, {
    sandboxesOver: (store) =>
      keeperOf(t, {
        store,
        engine: sandboxesOf(launcher.socket),
        capacity: { sandboxes: SANDBOXES, memoryBytes: SANDBOXES * 128 * MIB, cpus: 1, diskBytes: 0, network: false },
      }),
  });
  const key = await running.key({ profiles: ["agent"] });
  const { port, caPath } = running;
  const send = async (ask: Ask, expected = 200) => {
    running.clock.nowMs = Date.now();
    const { status, json, text } = await running.ask({ key, ...ask });
    assert.equal(status, expected, text);
    return json;
  };
  return {
    send,
    /** Makes a sandbox. @returns its path. */
    create: async (body: object) => {
      const { id } = await send({ method: "POST", path: "/api/sandboxes", body: { limits: LIMITS, ...body } }, 201);
      return `/api/sandboxes/${id}`;
    },
    /** Starts a program in the background. @returns the path of the execution. */
    begin: async (path: string, body: object) => {
      const { number } = await send(
        { method: "POST", path: `${path}/executions`, body: { background: true, ...body } },
        201,
      );
      return `${path}/executions/${number}`;
    },
    change: (path: string, body: object) => send({ method: "PATCH", path, body }),
    /** Reading the record is no use of a sandbox. */
    state: async (path: string): Promise<string> => {
      const { state, end_reason } = await send({ path });
      return end_reason ?? state;
    },
    endOf: async (path: string) => {
      for (;;) {
        const record = await send({ path });
        if (record.state === "ended") return record;
        await sleep(50);
      }
    },
    /** Reads events until the function that it returns is called. */
    follow: async (path: string): Promise<() => void> => {
      const of = { port, host: "127.0.0.1", ca: readFileSync(caPath), servername: "localhost", agent: false as const };
      const asked = request({ ...of, path, headers: { "x-api-key": key } }).end();
      const [response] = await once(asked, "response");
      assert.equal(response.statusCode, 200);
      response.on("error", () => {}).resume();
      asked.on("error", () => {}); // it is destroyed
      return () => asked.destroy();
    },
    attach: async (path: string): Promise<() => void> => {
      const socket = new WebSocket(`wss://localhost:${port}${path}/attach`, {
        headers: { "x-api-key": key },
        ca: readFileSync(caPath),
      });
      await once(socket, "open");
      return () => socket.close();
    },
  };
}

/** How long a sandbox lived, in seconds. */
const secondsOf = ({ timestamps }: { timestamps: { started_at: string; ended_at: string } }) =>
  (Date.parse(timestamps.ended_at) - Date.parse(timestamps.started_at)) / 1000;

test("a changed lifetime or idle time moves the end, in both directions", async (t) => {
  const { send, create, change, state, endOf } = await start(t);
  const [longer, sooner] = [await create({ lifetime_secs: 8 }), await create({ lifetime_secs: 3_600 })];
  const [later, earlier] = [await create({ idle_secs: 8 }), await create({ idle_secs: 3_600 })];
  await change(longer, { lifetime_secs: 3_600 });
  await change(sooner, { lifetime_secs: 6 });
  await change(later, { idle_secs: 3_600 });
  await change(earlier, { idle_secs: 2 });
  // These have the times that the others had, and are the youngest.
  const [unchanged, unused] = [await create({ lifetime_secs: 8 }), await create({ idle_secs: 8 })];
  for (const [path, reason, least] of [
    [sooner, "lifetime", 6],
    [earlier, "idle", 2],
    [unchanged, "lifetime", 8],
    [unused, "idle", 8],
  ] as const) {
    const record = await endOf(path);
    assert.equal(record.end_reason, reason);
    assert.ok(secondsOf(record) >= least, `it ended after ${secondsOf(record)} s`);
    assert.equal(record.evidence.teardown.cleanup_verified, true);
  }
  for (const path of [longer, later]) {
    assert.equal(await state(path), "running");
    const body = { shell: "echo alive" };
    assert.equal((await send({ method: "POST", path: `${path}/executions`, body })).output.stdout, "alive\n");
  }
  // A lifetime that is over already.
  await change(longer, { lifetime_secs: 1 });
  assert.equal((await endOf(longer)).end_reason, "lifetime");
  await change(later, { idle_secs: 1 });
  assert.equal((await endOf(later)).end_reason, "idle");
});

test("a sandbox with a reader or a busy program is not idle, and one with neither is", async (t) => {
  const { create, begin, send, state, endOf, follow, attach } = await start(t);
  const idle = { idle_secs: 3 };
  const followed = await create(idle);
  const attached = await create(idle);
  const watched = await create(idle);
  const busy = await create(idle);
  const readers = [
    await follow(`${await begin(followed, { shell: "sleep 3600" })}/events`),
    await attach(await begin(attached, { shell: "cat", open_input: true })),
    await follow(`${watched}/files/events?path=.`),
  ];
  const computing = await begin(busy, { shell: "while :; do :; done" });
  // One after the other, so that the others live much longer than their idle time. Their programs, and requests that ended, are no use.
  for (let n = 0; n < 2; n++) {
    const unused = await create(idle);
    await begin(unused, { shell: "sleep 3600" });
    await send({ path: `${unused}/files/list?path=.` });
    const record = await endOf(unused);
    assert.equal(record.end_reason, "idle");
    assert.ok(secondsOf(record) >= 3, `it ended after ${secondsOf(record)} s`);
  }
  for (const path of [followed, attached, watched, busy]) assert.equal(await state(path), "running");
  // Without them, each of the others ends as well.
  for (const leave of readers) leave();
  await send({ method: "DELETE", path: computing });
  for (const path of [followed, attached, watched, busy]) assert.equal((await endOf(path)).end_reason, "idle");
});
