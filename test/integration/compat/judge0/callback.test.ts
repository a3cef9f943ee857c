import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import { FOREIGN_APIS } from "../../../../src/compat/apis.ts";
import { Deliverer } from "../../../../src/webhooks/deliverer.ts";
import { threadedPost } from "../../../../src/webhooks/threaded-post.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { addEndpoint, addProject, sealer } from "../../../support/webhooks/project.ts";
import { makeCertificates, startReceiver } from "../../../support/webhooks/receiver.ts";

const certificates = makeCertificates();

onEachDatabase((open) => {
  test("a callback is a signed PUT of Judge0's answer, again after an error, in addition to the webhook", {
    timeout: 30_000,
  }, async (t) => {
    let answers = 0;
    const receiver = await startReceiver(t, certificates, (response, { method }) => {
      response.statusCode = method === "PUT" && answers++ === 0 ? 503 : 200;
      response.end();
    });
    const { ask, store, clock, key } = await startHttp(t, { open });
    Object.defineProperty(clock, "nowMs", { get: () => Date.now() });
    const project = await addProject(store, "shop");
    const { secret } = await addEndpoint(store, project, { url: `${receiver.url}hook` });
    const callback_url = `${receiver.url}done?id=7`;
    const body = { language_id: 71, source_code: "print(1)", expected_output: "2", callback_url };
    const own = await key({ project: project.id });
    const { status, json } = await ask({ method: "POST", path: "/judge0/submissions", body, key: own });
    assert.equal(status, 201);
    await runPending(store);
    const deliverer = Deliverer.start({
      store,
      sealer,
      allowed: [{ host: "127.0.0.1", port: receiver.port }],
      post: threadedPost({ ca: certificates.ca }),
      foreignApis: FOREIGN_APIS,
      userAgent: "Assay/0.0.0",
      drainMs: 5_000,
      log: pino({ level: "silent" }),
    });
    t.after(() => deliverer.stop());
    await receiver.until(3);
    const calls = receiver.received.filter(({ method }) => method === "PUT");
    assert.deepEqual(
      calls.map(({ path }) => path),
      [new URL(callback_url), new URL(callback_url)].map(({ pathname, search }) => pathname + search),
    );
    for (const { body: sent, headers } of calls) {
      const payload = new Webhook(secret).verify(sent.toString(), headers as Record<string, string>);
      const expected = { token: json.token, stdout: "MQo=\n", stderr: null, compile_output: null, message: null };
      const { time, memory, ...rest } = payload as Record<string, unknown>;
      assert.deepEqual(rest, { ...expected, status: { id: 4, description: "Wrong Answer" } });
      assert.ok(typeof time === "string" && typeof memory === "number");
    }
    const [record] = receiver.received.filter(({ method }) => method === "POST");
    assert.equal(JSON.parse(record?.body.toString() ?? "").id, json.token);
    const ended = async () => (await store.deliveries.list({ max: 5 })).every(({ state }) => state === "delivered");
    while (!(await ended())) await sleep(10);
    const called = (await store.deliveries.list({ max: 5 })).find(({ url }) => url === callback_url);
    assert.equal(called?.attempts.length, 2);
    assert.ok(await store.deliveries.replay(called?.id ?? "", "test"));
    await receiver.until(4);
    assert.deepEqual([receiver.received[3]?.method, receiver.received[3]?.path], ["PUT", calls[0]?.path]);
  });
});
