import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { entriesOf, NOT_THERE, startTwoTenants, type TwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { type OpenTemporary, onEachDatabase } from "../../../support/store/temporary.ts";
import { endOne, sealer } from "../../../support/webhooks/project.ts";
import { type Answer, makeCertificates, startReceiver } from "../../../support/webhooks/receiver.ts";

const certificates = makeCertificates();
const LIMIT = { timeout: 60_000 };

onEachDatabase((open) => {
  test("the secret of a new endpoint and its replacement are displayed once and stored sealed", LIMIT, async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada, accountId, projectId } = club;
    const { status, json } = await ada("POST", "/endpoints", { projectId, url: "https://8.8.8.8/hook" });
    const { id } = json.endpoint;
    const endpoint = {
      id,
      url: "https://8.8.8.8/hook",
      project: { id: projectId, name: "shop" },
      account: { id: accountId, name: "club" },
      signing: "standard",
      active: true,
      createdAt: new Date(running.clock.nowMs).toISOString(),
      failingSince: null,
      recent: { delivered: 0, failed: 0, pending: 0 },
    };
    assert.deepEqual([status, json], [200, { endpoint, secret: json.secret, caution: null, formerEndsAt: null }]);
    const stored = async () => sealer.open(id, (await running.store.endpoints.get(id))?.secret ?? Buffer.alloc(0));
    assert.equal(await stored(), json.secret);
    const formerEndsAt = new Date(running.clock.nowMs + 60_000).toISOString();
    const rotated = (await ada("POST", `/endpoints/${id}/rotate-secret`, { overlapMs: 60_000 })).json;
    assert.deepEqual(rotated, { endpoint, secret: rotated.secret, caution: null, formerEndsAt });
    assert.equal(await stored(), rotated.secret);
    assert.deepEqual((await ada("GET", `/endpoints?project=${projectId}`)).json.endpoints, [endpoint]);
    const changed = (await ada("PATCH", `/endpoints/${id}`, { active: false, signing: "raw" })).json;
    assert.deepEqual(changed, { ...endpoint, active: false, signing: "raw" });
    assert.equal((await ada("DELETE", `/endpoints/${id}`, {})).status, 204);
    assert.deepEqual((await ada("GET", "/endpoints")).json.endpoints, []);
    assert.deepEqual(
      await entriesOf(club, ada),
      ["remove", "set-signing", "disable", "rotate-secret", "create"].map((action) => [`endpoint.${action}`, id]),
    );
    const everything = JSON.stringify([await running.store.audit.list({ max: 100 }), running.logs]);
    for (const one of [json.secret, rotated.secret]) assert.equal(everything.includes(one), false);
  });

  test("a test delivery reaches a real receiver, verifies, and returns the response", LIMIT, async (t) => {
    const { ada, receiver, made } = await withReceiver(t, open, (response) =>
      response.writeHead(202).end("thank\u0007 you"),
    );
    const { status, json } = await ada("POST", `/endpoints/${made.endpoint.id}/test`);
    assert.equal(status, 200);
    const [one] = receiver.received;
    assert.ok(one);
    new Webhook(made.secret).verify(one.body, one.headers as Record<string, string>);
    const { id, webhookId, createdAt, endedAt, attempts } = json;
    assert.equal(webhookId, one.headers["webhook-id"]);
    const [{ at, latencyMs, sentHeaders, answerHeaders, ...attempt }] = attempts;
    assert.ok(Date.parse(at) > 0 && latencyMs >= 0);
    assert.deepEqual(attempt, { number: 1, status: 202, error: null, answer: "thank\ufffd you" });
    const { connection: _, ...received } = one.headers;
    assert.deepEqual(Object.fromEntries(sentHeaders), received);
    assert.deepEqual(answerHeaders.at(-1), ["transfer-encoding", "chunked"]);
    assert.deepEqual(json, {
      ...{ id, webhookId, createdAt, endedAt, attempts },
      endpointId: made.endpoint.id,
      url: receiver.url,
      submissionId: null,
      kind: "test",
      state: "delivered",
      nextAt: null,
      reason: null,
    });
    const { deliveries, next } = (await ada("GET", `/deliveries?endpoint=${made.endpoint.id}`)).json;
    assert.deepEqual([deliveries, next], [[json], null]);
    const [{ recent }] = (await ada("GET", "/endpoints")).json.endpoints;
    assert.deepEqual(recent, { delivered: 1, failed: 0, pending: 0 });
  });

  test("items of another account get the same response as unknown items", LIMIT, async (t) => {
    const { running, root, ada, eve, projectId } = await startTwoTenants(t, { open });
    const { endpoint } = (await ada("POST", "/endpoints", { projectId, url: "https://8.8.8.8/" })).json;
    const path = `/endpoints/${endpoint.id}`;
    for (const [method, to, body] of [
      ["GET", `/endpoints?project=${projectId}`, undefined],
      ["POST", "/endpoints", { projectId, url: "https://8.8.8.8/" }],
      ["PATCH", path, { active: false }],
      ["POST", `${path}/rotate-secret`, { overlapMs: 0 }],
      ["POST", `${path}/test`, undefined],
      ["POST", `${path}/replay-failed`, {}],
      ["DELETE", path, undefined],
      ["DELETE", "/endpoints/nobody", undefined],
    ] as const) {
      const { status, json } = await eve(method, to, body);
      assert.deepEqual([status, json], [404, NOT_THERE], `${method} ${to}`);
    }
    assert.deepEqual((await eve("GET", "/endpoints")).json.endpoints, []);
    assert.deepEqual((await root("GET", "/endpoints")).json.endpoints, [endpoint]);
    assert.deepEqual((await ada("POST", `${path}/replay-failed`, {})).json, { replayed: 0, more: false });
    for (const name of ["since", "until"])
      assert.equal((await ada("POST", `${path}/replay-failed`, { [name]: "yesterday" })).status, 400);
    assert.equal((await running.store.endpoints.list()).length, 1);
  });
});

onEachDatabase((open) => {
  test(
    "an endpoint fails from its first failed delivery to the next success, visible to its account",
    LIMIT,
    async (t) => {
      const answers = [500, 410, 200];
      const { ada, eve, root, running, made, receiver } = await withReceiver(t, open, (response) =>
        response.writeHead(answers.shift() ?? 200, { "x-long": "y".repeat(300), "set-cookie": "secret" }).end(),
      );
      const path = `/endpoints/${made.endpoint.id}`;
      const failing = async (ask = ada) => {
        const { endpoints, more } = (await ask("GET", "/endpoints/failing")).json;
        assert.equal(more, false);
        return endpoints.map(({ id, failingSince }: { id: string; failingSince: string }) => [id, failingSince]);
      };
      assert.deepEqual(await failing(), []);
      const began = new Date(running.clock.nowMs).toISOString();
      const first = (await ada("POST", `${path}/test`)).json;
      assert.equal(first.state, "failed");
      running.clock.nowMs += 60_000;
      await ada("POST", `${path}/test`);
      assert.deepEqual(await failing(), [[made.endpoint.id, began]]);
      assert.deepEqual(await failing(root), [[made.endpoint.id, began]]);
      assert.deepEqual(await failing(eve), []);
      const headers = new Map<string, string>(first.attempts[0].answerHeaders);
      assert.deepEqual([headers.get("x-long"), headers.get("set-cookie")], [`${"y".repeat(200)}…`, "(not kept)"]);
      // The member sees the body as it was sent; another account sees none of it.
      const body = (await ada("GET", `/deliveries/${first.id}/body`)).json;
      assert.deepEqual(body, { text: String(receiver.received[0]?.body), isCut: false });
      assert.deepEqual((await eve("GET", `/deliveries/${first.id}/body`)).json, NOT_THERE);
      await ada("PATCH", path, { active: false });
      assert.deepEqual(await failing(), []);
      await ada("PATCH", path, { active: true });
      assert.deepEqual(await failing(), [[made.endpoint.id, began]]);
      await ada("POST", `${path}/test`);
      assert.deepEqual(await failing(), []);
      assert.equal((await ada("GET", path)).json.failingSince, null);
    },
  );
});

test("checks a URL with the same guard as the command, and returns its message", LIMIT, async (t) => {
  const { ada, projectId } = await startTwoTenants(t);
  for (const [status, error, url] of [
    [422, /^only public addresses are allowed: 127\.0\.0\.1 is loopback$/, "https://127.0.0.1/"],
    [422, /^only public addresses are allowed: 169\.254\.169\.254 is link/, "https://169.254.169.254/latest"],
    [422, /https/, "http://8.8.8.8/"],
    [422, /./, "nothing"],
    [400, /^url: has unprintable characters$/, "https://8.8.8.8/\x01"],
  ] as const) {
    const answer = await ada("POST", "/endpoints", { projectId, url });
    assert.equal(answer.status, status, `${url}: ${answer.text}`);
    assert.match(answer.json.error, error, url);
  }
  assert.deepEqual((await ada("GET", "/endpoints")).json.endpoints, []);
});

test("explains why it rejects a removed endpoint, an archived project and an eleventh endpoint", LIMIT, async (t) => {
  const { ada, projectId } = await startTwoTenants(t);
  const add = () => ada("POST", "/endpoints", { projectId, url: "https://8.8.8.8/" });
  const { endpoint } = (await add()).json;
  for (let at = 0; at < 9; at++) assert.equal((await add()).status, 200);
  assert.deepEqual((await add()).json, { error: "the project shop has 10 endpoints, the maximum" });
  assert.equal((await ada("DELETE", `/endpoints/${endpoint.id}`)).status, 204);
  assert.deepEqual((await ada("PATCH", `/endpoints/${endpoint.id}`, { active: true })).json, NOT_THERE);
  await ada("PATCH", `/projects/${projectId}`, { archived: true });
  assert.deepEqual((await add()).json, { error: "the project shop is archived; restore it first" });
});

test("a failed test returns the reason, needs no active endpoint, and is limited to ten a minute", LIMIT, async (t) => {
  const { ada, made, running, projectId, accountId } = await withReceiver(t, undefined, (response) =>
    response.writeHead(500).end(),
  );
  const path = `/endpoints/${made.endpoint.id}`;
  await ada("PATCH", path, { active: false });
  const { json } = await ada("POST", `${path}/test`);
  assert.deepEqual([json.state, json.attempts.length, json.attempts[0].status], ["failed", 1, 500]);
  for (let at = 1; at < 10; at++) assert.equal((await ada("POST", `${path}/test`)).status, 200);
  const refused = await ada("POST", `${path}/test`);
  assert.equal(refused.status, 422);
  assert.match(refused.json.error, /^an account can send 10 tests in a minute; try again in \d+ s$/);
  await running.store.keys.add(
    {
      ...{
        id: "k",
        accountId,
        projectId,
        name: "k",
        prefix: "",
        hash: "h",
        requestsPerMinute: null,
        concurrency: null,
      },
      profiles: ["judge"],
      defaultProfile: "judge",
    },
    "test",
  );
  await ada("PATCH", path, { active: true });
  await endOne(running.store, { id: projectId, key: { keyId: "k", accountId } });
  const [{ recent }] = (await ada("GET", "/endpoints")).json.endpoints;
  assert.deepEqual(recent, { delivered: 0, failed: 10, pending: 1 });
});

test("allows an account ten replay requests a minute, over both routes", LIMIT, async (t) => {
  const { ada, made, running } = await withReceiver(t, undefined, (response) => response.writeHead(200).end());
  const path = `/endpoints/${made.endpoint.id}`;
  const { id } = (await ada("POST", `${path}/test`)).json;
  assert.equal((await ada("POST", `/deliveries/${id}/replay`)).status, 200);
  const pending = await ada("POST", `${path}/replay-failed`, {});
  assert.deepEqual(pending.json, { error: "replays to the endpoint are still pending; try again later" });
  assert.equal(pending.status, 422);
  for (let at = 2; at < 10; at++) assert.equal((await ada("POST", `/deliveries/${id}/replay`)).status, 200);
  for (const [to, body] of [
    [`/deliveries/${id}/replay`, undefined],
    [`${path}/replay-failed`, {}],
  ] as const) {
    const { status, json } = await ada("POST", to, body);
    assert.equal(status, 422);
    assert.match(json.error, /^an account can send 10 replays in a minute; try again in \d+ s$/);
  }
  assert.equal((await running.store.deliveries.list({ max: 100 })).length, 10);
});

async function withReceiver(t: TestContext, open: OpenTemporary | undefined, answer: Answer) {
  const receiver = await startReceiver(t, certificates, answer);
  const receivers = { ports: [receiver.port], ca: certificates.ca };
  const club: TwoTenants = await startTwoTenants(t, { receivers, ...(open && { open }) });
  const { status, json } = await club.ada("POST", "/endpoints", { projectId: club.projectId, url: receiver.url });
  assert.equal(status, 200, JSON.stringify(json));
  return { ...club, receiver, made: json as { endpoint: { id: string }; secret: string } };
}
