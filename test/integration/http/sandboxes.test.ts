import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { z } from "zod";
import { SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { ROUTES } from "../../../src/http/api/routes.ts";
import {
  EXECUTION_EVENTS,
  executionBody,
  metricsBody,
  sandboxBody,
  snapshotBody,
} from "../../../src/http/api/sandboxes/bodies.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { type Ask, type Running, startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { addEndpoint, addProject, deliveryBudget } from "../../support/webhooks/project.ts";

interface WithSandboxes extends Running {
  readonly host: MemorySandboxes;
  readonly agent: string;
  /** Sends a request with a key that may use sandboxes. */
  readonly send: (ask: Ask) => ReturnType<Running["ask"]>;
  /** @param key by default that of `send`. @returns the path of a new sandbox. */
  readonly create: (body?: object, key?: string) => Promise<string>;
}

async function start(t: TestContext, options: Parameters<typeof startHttp>[1] = {}): Promise<WithSandboxes> {
  const made: MemorySandboxes[] = [];
  const running = await startHttp(t, {
    ...options,
    sandboxesOver: (store) => {
      const host = new MemorySandboxes(store);
      made.push(host);
      return host;
    },
  });
  const [host] = made;
  assert.ok(host);
  const agent = await running.key({ profiles: ["agent"] });
  const send = (ask: Ask) => running.ask({ key: agent, ...ask });
  const create = async (body: object = {}, key = agent) => {
    const { status, json } = await send({ key, method: "POST", path: "/api/sandboxes", body });
    assert.equal(status, 201);
    return `/api/sandboxes/${json.id}`;
  };
  return { ...running, host, agent, send, create };
}

/** A project with an endpoint. `messages` reads the numbers of the executions whose ends were sent to it. */
async function withWebhook(store: Running["store"]) {
  const project = await addProject(store);
  await addEndpoint(store, project);
  const messages = async () => {
    const claims = await store.deliveries.claimDue({ ...deliveryBudget(99), leaseMs: 60_000 });
    const bodies = await Promise.all(claims.map((claim) => store.deliveries.message(claim)));
    return bodies
      .map((message) => {
        assert.ok(message && "body" in message);
        const { type, data } = JSON.parse(message.body.toString("utf8"));
        assert.equal(type, "execution.completed");
        return data.number as number;
      })
      .sort((one, other) => one - other);
  };
  return { project: project.id, messages };
}

const IDS = /\{id\}/;

onEachDatabase((open) => {
  test("every route of sandboxes refuses a key without the profile agent, and a service without sandboxes", async (t) => {
    const { send, ask, key } = await start(t, { open });
    const without = await startHttp(t, { open });
    const agentOfOther = await without.key({ profiles: ["agent"] });
    const other = await key({ profiles: ["judge"] });
    const routes = ROUTES.filter(({ path }) => /^\/api\/(sandboxes|snapshots)/.test(path));
    assert.ok(routes.length >= 33);
    for (const { method, path, errors, parameters } of routes) {
      const query = "path" in parameters.query ? "?path=a" : "";
      const asked = {
        method: method.toUpperCase(),
        path: path.replace(IDS, randomUUID()).replace("{number}", "1") + query,
        ...(["post", "put", "patch"].includes(method) && { body: method === "patch" ? {} : bodyOf(path) }),
      };
      const name = `${method} ${path}`;
      assert.deepEqual(
        (await ask({ ...asked, key: other })).json,
        { error: "this API key may not use the profile agent" },
        name,
      );
      const off = await without.ask({ ...asked, key: agentOfOther });
      assert.equal(off.status, 503, name);
      assert.match(off.json.error, /^this service has no sandboxes/, name);
      assert.ok(errors.includes("profileForbidden") && errors.includes("sandboxesOff"), name);
      if (!IDS.test(path)) continue;
      const { status, json } = await send(asked);
      const what = path.startsWith("/api/snapshots") ? "snapshot" : "sandbox";
      assert.deepEqual([status, json], [404, { error: `${what} not found` }], name);
    }
  });

  test("a sandbox is created, changed, paused, resumed and ended", async (t) => {
    const { send, host } = await start(t, { open });
    const key = randomUUID();
    const asked = {
      method: "POST",
      path: "/api/sandboxes",
      body: { lifetime_secs: 100, limits: { memory_bytes: 128 * 2 ** 20 }, env: { A: "b" }, metadata: { task: "42" } },
      headers: { "idempotency-key": key },
    };
    const { status, json, headers } = await send(asked);
    assert.equal(status, 201);
    sandboxBody.parse(json);
    assert.equal(headers.location, `/api/sandboxes/${json.id}`);
    assert.equal(json.state, "running");
    assert.equal(json.lifetime_secs, 100);
    assert.equal(json.limits.memory_bytes, 128 * 2 ** 20);
    assert.deepEqual(json.metadata, { task: "42" });
    assert.equal((await send(asked)).json.id, json.id, "a repeated request gets the same sandbox");
    assert.equal((await send({ ...asked, body: {} })).status, 422, "the same key with another request");
    const path = `/api/sandboxes/${json.id}`;
    const changed = await send({ method: "PATCH", path, body: { idle_secs: 7, metadata: { a: "b" } } });
    assert.deepEqual([changed.status, changed.json.idle_secs, changed.json.metadata], [200, 7, { a: "b" }]);
    assert.equal((await send({ method: "POST", path: `${path}/pause` })).json.state, "paused");
    const paused = await send({ method: "POST", path: `${path}/executions`, body: { shell: "echo a" } });
    assert.deepEqual([paused.status, paused.json.error], [409, "the sandbox is paused; resume it first"]);
    assert.equal((await send({ method: "POST", path: `${path}/resume` })).json.state, "running");
    const { json: metrics } = await send({ path: `${path}/metrics` });
    assert.deepEqual([metrics.cpu_time_secs, "samples" in metrics], [3, false]);
    const { samples } = (await send({ path: `${path}/metrics?samples=true` })).json;
    assert.deepEqual([samples.length, samples[3].cpu_time_secs, samples[3].memory_bytes], [4, 3, 32 * 1_048_576]);
    assert.match(samples[3].at, /^\d{4}-.*Z$/);
    assert.equal((await send({ path: `${path}/metrics?samples=yes` })).status, 400);
    const ended = await send({ method: "DELETE", path });
    assert.deepEqual([ended.status, ended.json.state, ended.json.end_reason], [200, "ended", "client"]);
    assert.equal((await send({ method: "DELETE", path })).status, 200, "a second end changes nothing");
    assert.equal((await send({ path })).json.end_reason, "client");
    const late = await send({ path: `${path}/resume`, method: "POST" });
    assert.deepEqual(
      [late.status, late.json],
      [410, { error: "the sandbox has ended: a client ended it", end_reason: "client" }],
    );
    const last = await send({ path: `${path}/metrics` });
    metricsBody.parse(last.json);
    assert.deepEqual(last.json, {
      ...{ memory_bytes: 0, memory_peak_bytes: 32 * 1_048_576, cpu_time_secs: 3, oom_kills: null },
      ...{ processes: 0, disk_bytes: 0, inodes: 0 },
    });
    assert.deepEqual((await send({ path: `${path}/metrics?samples=true` })).json, { ...last.json, samples });
    assert.equal(host.uses, 0, "no request is left in use");
  });

  test("a snapshot is taken, listed and deleted, and is of its own account alone", async (t) => {
    const { send, create, key, host } = await start(t, { open });
    const path = await create({ on_timeout: "snapshot" });
    assert.deepEqual((await send({ path })).json.last_snapshot, { id: null, error: null });
    const taken = await send({ method: "POST", path: `${path}/snapshots`, body: { name: "é" } });
    assert.deepEqual([taken.status, taken.headers.location], [201, `/api/snapshots/${taken.json.id}`]);
    snapshotBody.parse(taken.json);
    assert.deepEqual([taken.json.name, `/api/sandboxes/${taken.json.sandbox_id}`], ["é", path]);
    const second = await send({ method: "POST", path: `${path}/snapshots`, body: {} });
    assert.equal(second.json.name, null);
    const page = (await send({ path: "/api/snapshots?limit=1" })).json;
    assert.deepEqual(page.snapshots, [second.json]);
    assert.deepEqual((await send({ path: `/api/snapshots?before=${page.next}` })).json, {
      snapshots: [taken.json],
      next: null,
    });
    const one = `/api/snapshots/${taken.json.id}`;
    assert.deepEqual((await send({ path: one })).json, taken.json);
    const other = await key({ profiles: ["agent"] });
    for (const method of ["GET", "DELETE"]) assert.equal((await send({ method, path: one, key: other })).status, 404);
    assert.deepEqual((await send({ path: "/api/snapshots", key: other })).json.snapshots, []);
    assert.deepEqual((await send({ method: "DELETE", path: one })).json, taken.json);
    assert.equal((await send({ path: one })).status, 404);
    for (const body of [{ name: "" }, { name: "x".repeat(129) }, { name: "\0" }, { other: 1 }, { name: 1 }])
      assert.equal((await send({ method: "POST", path: `${path}/snapshots`, body })).status, 400, JSON.stringify(body));
    for (const body of [{ from: "x" }, { on_timeout: "pause" }])
      assert.equal((await send({ method: "POST", path: "/api/sandboxes", body })).status, 400, JSON.stringify(body));
    for (const [refusal, status] of [
      [new SandboxRefused("snapshotQuota", { what: "snapshots", most: 20 }), 429],
      [new SandboxRefused("snapshotsFull"), 507],
      [new SandboxRefused("snapshotFailed", { why: "a\ud800" }), 422],
    ] as const) {
      host.refuses = refusal;
      assert.equal((await send({ method: "POST", path: `${path}/snapshots`, body: {} })).status, status);
    }
    for (const [refusal, status] of [
      [new SandboxRefused("snapshotNotFound"), 404],
      [new SandboxRefused("snapshotElsewhere"), 503],
      [new SandboxRefused("snapshotDamaged"), 500],
      [new SandboxRefused("snapshotTooLarge", { limit: "memory" }), 422],
    ] as const) {
      host.refuses = refusal;
      const refused = await send({ method: "POST", path: "/api/sandboxes", body: { from: randomUUID() } });
      assert.deepEqual([refused.status, refused.headers["retry-after"]], [status, status === 503 ? "5" : undefined]);
    }
  });

  test("for another account, no sandbox, execution and snapshot exists, by whatever route it asks", async (t) => {
    const { create, send, key, host } = await start(t, { open });
    const path = await create({ metadata: { task: "secret" } });
    await send({ method: "POST", path: `${path}/executions`, body: { shell: "echo a" } });
    const snapshot = (await send({ method: "POST", path: `${path}/snapshots`, body: {} })).json;
    const id = path.slice("/api/sandboxes/".length);
    const other = await key({ profiles: ["agent"] });
    const before = [
      await send({ path }),
      await send({ path: `${path}/executions` }),
      await send({ path: "/api/snapshots" }),
    ];
    const uses = host.uses;
    const asked: string[] = [];
    for (const { method, path: route, parameters } of ROUTES) {
      if (!/^\/api\/(sandboxes|snapshots)/.test(route) || !IDS.test(route)) continue;
      const isSnapshot = route.startsWith("/api/snapshots");
      const query = "path" in parameters.query ? "?path=a" : "";
      const refused = await send({
        key: other,
        method: method.toUpperCase(),
        path: route.replace(IDS, isSnapshot ? snapshot.id : id).replace("{number}", "1") + query,
        ...(["post", "put", "patch"].includes(method) && { body: method === "patch" ? {} : bodyOf(route) }),
      });
      const error = `${isSnapshot ? "snapshot" : "sandbox"} not found`;
      assert.deepEqual([refused.status, refused.json], [404, { error }], `${method} ${route}`);
      asked.push(route);
    }
    assert.ok(asked.length >= 28, String(asked.length));
    for (const list of ["/api/sandboxes", "/api/snapshots"])
      assert.doesNotMatch((await send({ key: other, path: list })).text, new RegExp(`${id}|${snapshot.id}|secret`));
    const after = [
      await send({ path }),
      await send({ path: `${path}/executions` }),
      await send({ path: "/api/snapshots" }),
    ];
    assert.deepEqual(
      after.map(({ json }) => json),
      before.map(({ json }) => json),
    );
    assert.equal(host.uses, uses);
  });

  test("lists sandboxes by state and metadata", async (t) => {
    const { send, create } = await start(t, { open });
    const one = await create({ metadata: { task: "1", user: "a b" } });
    const two = await create({ metadata: { task: "2", user: "a b" } });
    await send({ method: "DELETE", path: two });
    const list = async (query: string) =>
      (await send({ path: `/api/sandboxes?${query}` })).json.sandboxes.map(
        ({ id }: { id: string }) => `/api/sandboxes/${id}`,
      );
    assert.deepEqual(await list(""), [two, one]);
    assert.deepEqual(await list("state=running"), [one]);
    assert.deepEqual(await list(`metadata=${encodeURIComponent("user=a+b&task=2")}`), [two]);
    assert.deepEqual(await list(`metadata=${encodeURIComponent("task=3")}`), []);
    const page = (await send({ path: "/api/sandboxes?limit=1" })).json;
    assert.deepEqual((await send({ path: `/api/sandboxes?before=${page.next}` })).json.sandboxes.length, 1);
  });

  test("an execution responds with its record, at once in the background, and as a stream", async (t) => {
    const { send, create, host } = await start(t, { open, holdMs: 200 });
    const path = `${await create()}/executions`;
    const done = await send({ method: "POST", path, body: { shell: "echo hello" } });
    assert.equal(done.status, 200);
    executionBody.parse(done.json);
    assert.deepEqual([done.json.number, done.json.result.verdict, done.json.output.stdout], [1, "AC", "hello\n"]);
    assert.equal(done.headers.location, `${path}/1`);
    const slow = await send({ method: "POST", path, body: { shell: "sleep" } });
    assert.deepEqual([slow.status, slow.json.status, slow.json.number], [201, "running", 2]);
    for (const body of [
      { shell: "sleep", background: true },
      { shell: "sleep", terminal: { rows: 2, cols: 3 } },
    ])
      assert.equal((await send({ method: "POST", path, body })).status, 201);
    assert.equal((await send({ method: "POST", path: `${path}?wait=false`, body: { shell: "sleep" } })).status, 201);
    const headers = { accept: "text/event-stream" };
    const stream = await send({ method: "POST", path, body: { shell: "echo hé" }, headers });
    assert.match(String(stream.headers["content-type"]), /^text\/event-stream/);
    assert.deepEqual(
      eventsOf(stream.text).map(({ event, id }) => [event, id]),
      [
        ["start", undefined],
        ["stdout", "4-0"],
        ["ended", undefined],
      ],
    );
    const declared = EXECUTION_EVENTS as Readonly<Record<string, z.ZodType>>;
    for (const { event, data } of eventsOf(stream.text)) assert.deepEqual(declared[event ?? ""]?.parse(data), data);
    const again = await send({ path: `${path}/6/events`, headers: { "last-event-id": "1-0" } });
    assert.equal(eventsOf(again.text)[1]?.data.text, "é\n");
    const listed = (await send({ path })).json;
    assert.deepEqual(
      listed.executions.map(({ number, status }: { number: number; status: string }) => [number, status]),
      [
        [6, "completed"],
        [5, "running"],
        [4, "running"],
        [3, "running"],
        [2, "running"],
        [1, "completed"],
      ],
    );
    const killed = await send({ method: "DELETE", path: `${path}/3` });
    assert.deepEqual([killed.status, killed.json.number, killed.json.status], [200, 3, "completed"]);
    assert.equal((await send({ path: `${path}/3?wait=true` })).json.status, "completed");
    assert.equal((await send({ path: `${path}/1/stdout`, headers: { range: "bytes=1-2" } })).text, "el");
    assert.equal((await send({ path: `${path}/2/stdout` })).status, 409);
    for (const number of ["0", "99", "x", "1e1"])
      assert.equal((await send({ path: `${path}/${number}` })).status, 404, number);
    assert.equal(host.uses, 0);
  });

  test("the end of each execution that is answered with 201 reaches the webhooks, unless it has a terminal", async (t) => {
    const { store, key, send, create } = await start(t, { open, holdMs: 100 });
    const { project, messages } = await withWebhook(store);
    const ofProject = await key({ profiles: ["agent"], project });
    const path = `${await create({}, ofProject)}/executions`;
    const run = async (body: object, { query = "", headers = {} } = {}) =>
      (await send({ key: ofProject, method: "POST", path: `${path}${query}`, body, headers })).status;
    const statuses = [
      await run({ shell: "echo in time" }),
      await run({ shell: "sleep" }),
      await run({ shell: "sleep" }, { query: "?wait=false" }),
      await run({ shell: "sleep", background: true }),
      await run({ shell: "sleep", terminal: { rows: 2, cols: 3 } }),
      await run({ shell: "echo as a stream" }, { headers: { accept: "text/event-stream" } }),
    ];
    assert.deepEqual(statuses, [200, 201, 201, 201, 201, 200]);
    for (const number of [2, 3, 4, 5]) await send({ key: ofProject, method: "DELETE", path: `${path}/${number}` });
    assert.deepEqual(await messages(), [2, 3, 4]);
  });

  test("a client that leaves before it has a response causes no message", async (t) => {
    const { store, key, send, create, host } = await start(t, { open });
    const { project, messages } = await withWebhook(store);
    const ofProject = await key({ profiles: ["agent"], project });
    const path = `${await create({}, ofProject)}/executions`;
    const leaving = new AbortController();
    const asked = send({
      key: ofProject,
      method: "POST",
      path,
      body: { shell: "sleep" },
      signal: leaving.signal,
    });
    while (host.uses === 0 || (await send({ key: ofProject, path })).json.executions.length === 0) await sleep(5);
    leaving.abort();
    await assert.rejects(asked);
    while (host.uses > 0) await sleep(5);
    assert.equal((await send({ key: ofProject, method: "DELETE", path: `${path}/1` })).status, 200);
    assert.deepEqual(await messages(), []);
  });

  test("executions whose ends are messages count against the rate limit of the key, and other ones do not", async (t) => {
    const { store, key, send, create } = await start(t, { open, holdMs: 100 });
    const { project } = await withWebhook(store);
    for (const [isOfProject, body, counts] of [
      [false, { shell: "sleep", background: true }, true],
      [true, { shell: "sleep", background: true }, true],
      [false, { shell: "sleep" }, false],
      [true, { shell: "sleep" }, true],
      [true, { shell: "sleep", terminal: { rows: 2, cols: 3 } }, false],
    ] as const) {
      const one = await key({ profiles: ["agent"], requestsPerMinute: 3, ...(isOfProject && { project }) });
      const path = await create({}, one); // it counts as well
      const execute = (asked: object, query = "") =>
        send({ key: one, method: "POST", path: `${path}/executions${query}`, body: asked });
      const replies = [];
      for (let n = 0; n < 3; n++) replies.push(await execute(body, "?wait=false"));
      assert.deepEqual(
        replies.map(({ status, json }) => [status, json.error]),
        [[201, undefined], [201, undefined], counts ? [429, "API key quota exceeded"] : [201, undefined]],
      );
      assert.equal(replies[2]?.headers["ratelimit-remaining"], counts ? "0" : undefined);
      assert.equal((await execute({ shell: "echo a" })).status, 200, "a client that waits");
      await send({ key: one, method: "DELETE", path });
    }
  });

  test("lists and records are short, however long commands are", async (t) => {
    const { send, create } = await start(t, { open });
    const path = `${await create()}/executions`;
    const shell = `echo ${"\u0001".repeat(60_000)}`;
    const { json } = await send({ method: "POST", path, body: { shell, background: true } });
    assert.deepEqual([json.truncated, shell.startsWith(json.shell)], [true, true]);
    const listed = await send({ path });
    assert.ok(JSON.stringify(listed.json).length < 6_000);
  });
});

const bodyOf = (path: string) => {
  if (path.endsWith("/signal")) return { signal: "SIGINT" };
  if (path.endsWith("/terminal")) return { rows: 1, cols: 1 };
  if (path.endsWith("/executions")) return { shell: "echo" };
  if (path.endsWith("/directories")) return { path: "a" };
  return path.endsWith("/move") ? { path: "a", to: "b" } : {};
};

// The tests from here on are about bodies and connections, and about what a sandbox answers. None of that depends on the database.

test("refuses invalid bodies with a reason", async (t) => {
  const { send, create } = await start(t);
  const path = await create();
  const refused = async (where: string, body: unknown, method = "POST") => {
    const { status, json } = await send({ method, path: where, body });
    assert.equal(status, 400, JSON.stringify(body));
    return json.error as string;
  };
  assert.match(await refused("/api/sandboxes", []), /must be a JSON object/);
  assert.match(await refused("/api/sandboxes", { lifetime_secs: 0 }), /^lifetime_secs: /);
  assert.match(await refused("/api/sandboxes", { more: 1 }), /more/);
  assert.match(await refused("/api/sandboxes", { env: { "a=b": "" } }), /not the name of a variable/);
  assert.match(await refused("/api/sandboxes", '{"env":{"__proto__":"x"}}'), /__proto__/);
  assert.match(await refused("/api/sandboxes", { metadata: { a: "\0" } }), /cannot be stored/);
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`name${n}`, "x".repeat(500)]));
  assert.match(await refused("/api/sandboxes", { metadata: many }), /more than 4096 bytes/);
  const executions = `${path}/executions`;
  assert.match(await refused(executions, {}), /exactly one of argv, shell and code/);
  assert.match(await refused(executions, { argv: ["a"], shell: "b" }), /exactly one/);
  assert.match(await refused(executions, { argv: [] }), /must begin with a program/);
  assert.match(await refused(executions, { argv: ["a\0"] }), /U\+0000/);
  assert.match(await refused(executions, { shell: "a", cwd: "d".repeat(4_001) }), /^cwd/);
  assert.match(await refused(executions, { code: "x" }), /language: is required/);
  assert.match(await refused(executions, { code: "x", language: "cobol" }), /unsupported language/);
  assert.match(await refused(executions, { shell: "a", limits: { wall_time_secs: 3601 } }), /at most 3600/);
  assert.match(await refused(executions, { shell: "a", terminal: { rows: 0, cols: 1 } }), /^terminal.rows/);
  assert.match(await refused(executions, { shell: "a", stdin: "a", stdin_base64: "YQ==" }), /given as well/);
  assert.match(await refused(path, { lifetime_secs: "1" }, "PATCH"), /^lifetime_secs/);
});

interface ServerEvent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
  readonly data: any;
}

function eventsOf(text: string): ServerEvent[] {
  return text
    .split("\n\n")
    .filter((one) => one !== "" && !one.startsWith(":"))
    .map((one) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(one)?.[1];
      return { event: field("event"), id: field("id"), data: JSON.parse(field("data") ?? "null") };
    });
}

test("an execution takes input, signals and sizes", async (t) => {
  const { send, create } = await start(t);
  const path = `${await create()}/executions`;
  const begin = async (body: object) => {
    const { json } = await send({ method: "POST", path: `${path}?wait=false`, body });
    return `${path}/${json.number}`;
  };
  const cat = await begin({ shell: "cat", stdin: "a", open_input: true });
  const input = { "content-type": "text/plain" };
  assert.equal(
    (await send({ method: "POST", path: `${cat}/input`, body: Buffer.from("b\0"), headers: input })).status,
    200,
  );
  const last = await send({ method: "POST", path: `${cat}/input?end=true`, body: Buffer.from("{}") });
  assert.deepEqual([last.status, last.json.number], [200, 1]);
  assert.equal((await send({ path: `${cat}?wait=true` })).json.output.stdout, "ab\0{}");
  const late = await send({ method: "POST", path: `${cat}/input`, body: Buffer.from("c") });
  assert.deepEqual([late.status, late.json.error], [409, "the execution has ended"]);
  const closed = await begin({ shell: "sleep" });
  assert.equal((await send({ method: "POST", path: `${closed}/input`, body: Buffer.from("c") })).status, 409);
  assert.equal((await send({ method: "PUT", path: `${closed}/terminal`, body: { rows: 1, cols: 1 } })).status, 409);
  const terminal = await begin({ shell: "sleep", terminal: { rows: 24, cols: 80 } });
  assert.equal((await send({ method: "PUT", path: `${terminal}/terminal`, body: { rows: 30, cols: 90 } })).status, 200);
  assert.equal((await send({ method: "POST", path: `${terminal}/signal`, body: { signal: "SIGXCPU" } })).status, 400);
  assert.equal((await send({ method: "POST", path: `${terminal}/signal`, body: { signal: "SIGTERM" } })).status, 200);
  assert.equal((await send({ path: `${terminal}?wait=true` })).json.output.stdout, "30x90\nSIGTERM\n");
});

test("each reason for which a sandbox refuses a request has a response", async (t) => {
  const { send, create, host } = await start(t);
  const path = `${await create()}/executions`;
  const refusals = [
    [new SandboxRefused("sandboxQuota", { what: "executions", most: 16 }), 429],
    [new SandboxRefused("executionsFull"), 503],
    [new SandboxRefused("sandboxEnded", { reason: "idle" }), 410],
    [new SandboxRefused("sandboxElsewhere"), 503],
    [new SandboxRefused("inputFull", { bytes: 9 }), 429],
  ] as const;
  for (const [refusal, expected] of refusals) {
    host.refuses = refusal;
    const { status, json } = await send({ method: "POST", path, body: { shell: "echo" } });
    assert.equal(status, expected, json.error);
  }
  host.refuses = null;
  const body = { shell: "sleep", background: true };
  const { number } = (await send({ method: "POST", path, body })).json;
  // The process that has the sandbox can be lost after it was found, and the sandbox can end.
  host.refuses = new SandboxRefused("sandboxUnreachable");
  for (const read of ["?wait=true", "/events"]) {
    const { status, headers } = await send({ path: `${path}/${number}${read}` });
    assert.deepEqual([status, headers["retry-after"]], [503, "1"], read);
  }
  host.refuses = new SandboxRefused("sandboxEnded", { reason: "idle" });
  const stored = await send({ path: `${path}/${number}?wait=true` });
  assert.deepEqual([stored.status, stored.json.number], [200, number], stored.text);
  host.refuses = new SandboxRefused("sandboxesFull");
  const full = await send({ method: "POST", path: "/api/sandboxes", body: {} });
  assert.deepEqual([full.status, full.headers["retry-after"]], [503, "5"]);
});

/** A client of the WebSocket, with the texts as values and the binary messages as bytes, in the order in which they came. */
function attach(running: WithSandboxes, path: string) {
  const { port, agent, caPath } = running;
  const socket = new WebSocket(`wss://localhost:${port}${path}`, {
    headers: { "x-api-key": agent },
    ca: readFileSync(caPath),
  });
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
  const messages: any[] = [];
  socket.on("message", (data: Buffer, isBinary) => messages.push(isBinary ? data : JSON.parse(data.toString())));
  const closed = new Promise<number>((resolve, reject) => {
    socket.on("close", resolve);
    socket.on("error", reject);
  });
  const opened = once(socket, "open");
  opened.catch(() => {}); // some are refused
  return { socket, messages, closed, opened };
}

test("a WebSocket carries input, output, sizes and signals of an execution", async (t) => {
  const running = await start(t);
  const { send, create, host } = running;
  const path = `${await create()}/executions`;
  const body = { shell: "cat", terminal: { rows: 24, cols: 80 } };
  const { json } = await send({ method: "POST", path, body });
  const { socket, messages, closed, opened } = attach(running, `${path}/${json.number}/attach`);
  await opened;
  socket.send(Buffer.from("typed\r"));
  socket.send(JSON.stringify({ type: "resize", rows: 30, cols: 90 }));
  socket.send(JSON.stringify({ type: "signal", signal: "SIGTERM" }));
  assert.equal(await closed, 1000);
  assert.deepEqual(messages[0], { type: "start", number: 1, stdout: 0, stderr: 0 });
  const output = messages.filter((one) => Buffer.isBuffer(one)) as Buffer[];
  assert.ok(output.every((one) => one[0] === 1));
  assert.equal(Buffer.concat(output.map((one) => one.subarray(1))).toString(), "typed\r30x90\nSIGTERM\n");
  const last = messages.at(-1);
  assert.deepEqual(
    [last.type, last.execution.status, last.execution.output.stdout],
    ["ended", "completed", "typed\r30x90\nSIGTERM\n"],
  );
  assert.equal(host.uses, 0);
});

test("a WebSocket refuses what is no message, and continues where the client wants", async (t) => {
  const running = await start(t);
  const { send, create } = running;
  const path = `${await create()}/executions`;
  await send({
    method: "POST",
    path: `${path}?wait=false`,
    body: { shell: "cat", stdin: "0123456789", open_input: true },
  });
  const bad = attach(running, `${path}/1/attach?stdout=8`);
  await bad.opened;
  bad.socket.send("{}");
  assert.equal(await bad.closed, 1008);
  assert.deepEqual(bad.messages[0], { type: "start", number: 1, stdout: 8, stderr: 0 });
  assert.deepEqual(bad.messages[1], Buffer.from("\u000189"));
  assert.equal(bad.messages.at(-1).type, "error");
  const sized = attach(running, `${path}/1/attach`);
  await sized.opened;
  sized.socket.send(JSON.stringify({ type: "resize", rows: 1, cols: 1 }));
  assert.equal(await sized.closed, 1008);
  assert.equal(sized.messages.at(-1).error, "the execution has no terminal");
  const ending = attach(running, `${path}/1/attach`);
  await ending.opened;
  ending.socket.send(JSON.stringify({ type: "end" }));
  assert.equal(await ending.closed, 1000);
  const late = attach(running, `${path}/1/attach?stdout=9`);
  assert.equal(await late.closed, 1000, "an execution that has ended is sent, too");
  assert.deepEqual([late.messages[1], late.messages[2].type], [Buffer.from("\u00019"), "ended"]);
  assert.equal((await send({ path: `${path}/1/attach` })).status, 426);
  await assert.rejects(attach(running, `${path}/2/attach`).closed, /404/);
});
