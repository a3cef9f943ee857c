import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../../src/store/open.ts";
import { assay, dataDirectory, NOBODY, type Serving, serveWith, workerWithin } from "../../support/cli/processes.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { postgresServer } from "../../support/store/temporary.ts";

/*
 * Services and a worker as processes of their own, with a database that they share and the real kernel: what a client does with a sandbox of
 * the worker, whichever service it asks, and what it hears when the worker is killed.
 */

const LEASE_MS = 3_000;
/** A worker that was killed must begin again before the end of its lease. */
const RESTART_LEASE_MS = 60_000;
const MIB = 1_048_576;
const LISTEN = "127.0.0.1:0";

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly body?: object | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(
  port: number,
  key: string,
  { method = "GET", path, body, headers = {} }: Asked,
): Promise<IncomingMessage> {
  const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const type = Buffer.isBuffer(body) ? "application/octet-stream" : "application/json";
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: "127.0.0.1", port, path, method, agent: false, rejectUnauthorized: false },
        headers: { "x-api-key": key, ...(bytes && { "content-type": type }), ...headers },
      },
      resolve,
    );
    sent.on("error", reject).end(bytes);
  });
}

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece);
  return Buffer.concat(pieces);
}

const jsonOf = async (response: IncomingMessage) => JSON.parse((await bytesOf(response)).toString());

async function started(t: TestContext, direction: "dialled" | "reverse", leaseMs = LEASE_MS) {
  const server = await postgresServer();
  const url = server.url(await server.createDatabase());
  const store = await openStore({ database: { kind: "postgres", url } });
  await store.close();
  const launcher = await startLauncher({ slots: 3, sandboxes: 4, sandboxMemory: 2048 * MIB, clientUid: NOBODY });
  process.env.ASSAY_LEASE_MS = String(leaseMs);
  process.env.ASSAY_DATABASE = url;
  t.after(() => {
    delete process.env.ASSAY_LEASE_MS;
    delete process.env.ASSAY_DATABASE;
  });
  const services: Serving[] = [];
  for (let n = 0; n < 2; n++) {
    const env = direction === "reverse" ? { ASSAY_LINK_LISTEN: LISTEN } : {};
    services.push(await serveWith(env, t, dataDirectory(t), ["--no-worker"]));
  }
  const data = dataDirectory(t);
  const within = ["env", "ASSAY_SANDBOXES=4", ...(direction === "dialled" ? [`ASSAY_LINK_LISTEN=${LISTEN}`] : [])];
  const options = ["--workers", "1", "--launcher-socket", launcher.socket, "--keep-sandboxes"];
  const startWorker = () => workerWithin(within, t, data, ...options);
  const worker = await startWorker();
  const made = await assay("keys", "create", "--data", data, "--name", "me", "--account", "one", "--profiles", "agent");
  assert.equal(made.code, 0, made.stderr);
  const key = /assay_live_[\w-]+/.exec(made.stdout)?.[0] ?? "";
  const ask = (service: number, asked: Asked) => send(services[service]?.port ?? 0, key, asked);
  const create = async () => {
    let path = "";
    // A service that the worker is not linked to yet has no sandboxes.
    for (;;) {
      const response = await ask(0, { method: "POST", path: "/api/sandboxes", body: {} });
      const json = await jsonOf(response);
      if (response.statusCode === 201) {
        path = `/api/sandboxes/${json.id}`;
        break;
      }
      assert.equal(response.statusCode, 503, `${json.error}\n${services[0]?.output()}\n${worker.output()}`);
      await sleep(100);
    }
    for (;;) {
      const response = await ask(1, { path: `${path}/metrics` });
      const text = (await bytesOf(response)).toString();
      if (response.statusCode === 200) break;
      assert.equal(response.statusCode, 503, `${text}\n${services[1]?.output()}\n${worker.output()}`);
      await sleep(100);
    }
    return path;
  };
  return { launcher, services, worker, startWorker, ask, create };
}

for (const direction of ["dialled", "reverse"] as const)
  test(`any service uses the sandboxes of a worker that is ${direction}, and hears of its death`, {
    timeout: 300_000,
  }, async (t) => {
    const { launcher, services, worker, ask, create } = await started(t, direction);
    const path = await create();
    const run = async (service: number, body: object) => {
      const response = await ask(service, { method: "POST", path: `${path}/executions`, body });
      const json = await jsonOf(response);
      assert.equal(response.statusCode, 200, `${JSON.stringify(json)}\n${worker.output()}`);
      return json;
    };
    const first = await run(0, { shell: "echo kept > note; whoami" });
    assert.deepEqual([first.result.verdict, first.output.stdout], ["AC", "user\n"]);
    assert.equal(first.evidence.isolation.mode, "strict");
    assert.equal((await run(1, { shell: "cat note; exit 3" })).result.exit_code, 3);
    const bytes = randomBytes(16 * MIB);
    const put = await ask(0, { method: "PUT", path: `${path}/files?path=long`, body: bytes });
    assert.ok((put.statusCode ?? 0) < 300, (await bytesOf(put)).toString());
    assert.ok((await bytesOf(await ask(1, { path: `${path}/files?path=long` }))).equals(bytes));
    const missing = await ask(1, { path: `${path}/files?path=none` });
    assert.deepEqual([missing.statusCode, (await jsonOf(missing)).code], [404, "notFound"]);

    // A stream over one service, a request that waits at the other one; then the worker is killed.
    const streamed = await ask(0, {
      method: "POST",
      path: `${path}/executions`,
      body: { shell: "while :; do echo tick; sleep 0.1; done" },
      headers: { accept: "text/event-stream" },
    });
    assert.equal(streamed.statusCode, 200);
    let events = "";
    const ended = (async () => {
      for await (const piece of streamed) events += piece;
    })();
    const waiting = ask(1, { path: `${path}/executions/3?wait=true` });
    while ((events.match(/tick/g)?.length ?? 0) <= 3) await sleep(20);
    const download = await ask(1, { path: `${path}/files?path=long` });
    worker.process.kill("SIGKILL");
    await bytesOf(download).catch(() => {}); // all of it, or an error; what matters is that it ends
    const during = await ask(0, { method: "POST", path: `${path}/executions`, body: { shell: "true" } });
    assert.ok([503, 410].includes(during.statusCode ?? 0), String(during.statusCode));
    await bytesOf(during);
    await ended;
    assert.match(events, /event: ended/);
    const lost = await jsonOf(await waiting);
    assert.deepEqual([lost.status, lost.result.verdict, lost.result.actor], ["error", "IE", "judge"]);
    const gone = await ask(1, { method: "POST", path: `${path}/executions`, body: { shell: "true" } });
    assert.deepEqual([gone.statusCode, (await jsonOf(gone)).end_reason], [410, "worker_lost"]);
    const record = await jsonOf(await ask(0, { path }));
    assert.deepEqual([record.state, record.end_reason], ["ended", "worker_lost"]);
    const list = await jsonOf(await ask(0, { path: `${path}/executions` }));
    assert.equal(list.executions.length, 3, "nothing was repeated");
    for (const service of services) {
      service.process.kill("SIGTERM");
      assert.equal(await service.ended, 0, service.output());
    }
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await tracesLeft(launcher), []);
  });

test("a sandbox of a worker outlives restarts of the worker, with its snapshots, and services find it again", {
  timeout: 300_000,
}, async (t) => {
  const { launcher, services, worker, startWorker, ask, create } = await started(t, "dialled", RESTART_LEASE_MS);
  const path = await create();
  /** Repeats a request that is refused for a moment, which is all that clients may hear of a restart. */
  const patiently = async (service: number, asked: Asked) => {
    for (;;) {
      const response = await ask(service, asked);
      if (response.statusCode !== 503) return { status: response.statusCode, json: await jsonOf(response) };
      assert.match(response.headers["retry-after"] ?? "none", /^\d+$/);
      await bytesOf(response);
      await sleep(100);
    }
  };
  const run = async (service: number, shell: string) => {
    const asked = { method: "POST", path: `${path}/executions`, body: { shell } };
    const { status, json } = await patiently(service, asked);
    assert.deepEqual([status, json.result?.verdict], [200, "AC"], JSON.stringify(json));
    return json.output.stdout;
  };
  await run(0, "echo kept > note");
  const taken = await patiently(1, { method: "POST", path: `${path}/snapshots`, body: { name: "noted" } });
  assert.deepEqual([taken.status, taken.json.name], [201, "noted"], JSON.stringify(taken.json));
  let last = worker;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    last.process.kill(signal);
    await last.ended;
    const during = await ask(0, { method: "POST", path: `${path}/executions`, body: { shell: "true" } });
    assert.deepEqual(
      [during.statusCode, during.headers["retry-after"]],
      [503, "1"],
      (await bytesOf(during)).toString(),
    );
    last = await startWorker();
    for (const service of [0, 1]) assert.equal(await run(service, "cat note"), "kept\n");
  }
  const again = await patiently(1, { method: "POST", path: "/api/sandboxes", body: { from: taken.json.id } });
  assert.equal(again.status, 201, JSON.stringify(again.json));
  const file = await ask(0, { path: `/api/sandboxes/${again.json.id}/files?path=note` });
  assert.equal((await bytesOf(file)).toString(), "kept\n");
  const removed = await patiently(0, { method: "DELETE", path: `/api/snapshots/${taken.json.id}` });
  assert.equal(removed.status, 200, JSON.stringify(removed.json));
  for (const process of [...services, last]) {
    process.process.kill("SIGTERM");
    assert.equal(await process.ended, 0, process.output());
  }
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
});
