import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Raw } from "../../support/http/raw.ts";
import { type Running, runPending, startHttp } from "../../support/http/running.ts";

const LIMIT = { timeout: 120_000 };

/** Fewer than half of the service's connections, which one account may use. */
const CLIENTS = 900;

/** Opens connections that stay silent after the TLS handshake. */
async function strangers(t: TestContext, { port, caPath }: Running, many: number, from?: string): Promise<Raw[]> {
  const all = Array.from({ length: many }, () => Raw.secure(port, caPath, from));
  t.after(() => {
    for (const { socket } of all) socket.destroy();
  });
  await Promise.all(all.map(({ socket }) => once(socket, "secureConnect")));
  return all;
}

test("the oldest silent connection of an address is closed for a new client of the same address", LIMIT, async (t) => {
  const running = await startHttp(t, { limits: { maxConnectionsPerAddress: 20 } });
  const silent = await strangers(t, running, 20);
  for (let n = 0; n < 5; n++) assert.equal((await running.ask({ path: "/api/health" })).status, 200);
  assert.deepEqual(
    silent.map(({ socket }) => socket.destroyed),
    silent.map((_, at) => at === 0),
  );
  assert.equal(running.times("connectionsRefused address"), 1);
});

test("at the connection limit, a silent connection of the address with the most is closed", LIMIT, async (t) => {
  const running = await startHttp(t, { limits: { maxConnections: 12 } });
  const few = await strangers(t, running, 3, "127.0.0.3");
  const many = await strangers(t, running, 9, "127.0.0.2");
  assert.equal((await running.ask({ path: "/api/health" })).status, 200);
  assert.deepEqual(few.filter(({ socket }) => socket.destroyed).length, 0);
  assert.equal(many[0]?.socket.destroyed, true);
  assert.equal(running.times("connectionsRefused all"), 1);
});

test(
  "an account may hold at most as many connections as remain free, so a client of another account connects",
  LIMIT,
  async (t) => {
    const running = await startHttp(t, { limits: { maxConnections: 20 } });
    const { port, caPath, key } = running;
    const agents = Array.from(
      { length: 15 },
      () => new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(caPath) }),
    );
    t.after(() => {
      for (const agent of agents) agent.destroy();
    });
    const greedy = await key({ account: "greedy" });
    const statuses: number[] = [];
    for (const agent of agents) statuses.push((await ask(agent, port, greedy)).status);
    assert.deepEqual(
      [statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 503).length],
      [10, 5],
    );
    const refused = await ask(new Agent({ ca: readFileSync(caPath) }), port, greedy);
    assert.deepEqual([refused.status, refused.retryAfter], [503, "1"]);
    assert.equal((await running.ask({ path: "/api/health" })).status, 200);
  },
);

test("900 clients of one address wait at the same time, and each gets its result", LIMIT, async (t) => {
  const { port, caPath, key, store } = await startHttp(t, { maxPending: 4 * CLIENTS });
  const mine = await key();
  const ca = readFileSync(caPath);
  const agent = new Agent({ ca, maxSockets: CLIENTS });
  t.after(() => agent.destroy());
  const program = JSON.stringify({ language: "python", code: "x" });
  let over = false;
  const working = (async () => {
    while (!over) if ((await runPending(store)) === 0) await sleep(20);
  })();
  const all = await Promise.all(Array.from({ length: CLIENTS }, () => ask(agent, port, mine, program)));
  over = true;
  await working;
  const statuses = new Map<number, number>();
  for (const { status } of all) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  assert.deepEqual([...statuses], [[200, CLIENTS]]);
});

function ask(agent: Agent, port: number, key: string, body?: string) {
  return new Promise<{ status: number; retryAfter: string | undefined }>((resolve, reject) => {
    const path = body === undefined ? "/api/health" : "/api/submit?wait=true";
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const method = body === undefined ? "GET" : "POST";
    const sent = request(
      { agent, host: "127.0.0.1", servername: "localhost", port, path, method, headers },
      (response) => {
        response.resume();
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] }),
        );
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}
