import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startProxy } from "../../support/client/cutting-proxy.ts";
import { CLIENTS } from "../../support/client/drive.ts";
import { certificate, type Running, runPending, startHttp } from "../../support/http/running.ts";

/** test/system/client/ has real runs; this file has lost connections, limits and errors. */
const PROGRAM = { language: "python", code: "print(1)" };

const until = async (isSo: () => boolean | Promise<boolean>) => {
  while (!(await isSo())) await sleep(20);
};
const timeOf = (line: string) => Number(new Date((JSON.parse(line) as { time: number | string }).time));
const logged = ({ logs }: Running, text: string) => logs.filter((line) => line.includes(text)).length;

async function finished({ store }: Running): Promise<number> {
  let count = 0;
  await until(async () => {
    count += await runPending(store);
    return count > 0;
  });
  return count;
}

/** A proxy between client and service that answers by itself. */
async function startBetween(t: TestContext, answer: (response: ServerResponse) => void) {
  const { certPath, keyPath } = certificate();
  const received: string[] = [];
  const server = createServer({ cert: readFileSync(certPath), key: readFileSync(keyPath) }, (request, response) => {
    received.push(request.url ?? "");
    answer(response.setHeader("connection", "close"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, caPath: certPath, received };
}

for (const [name, { call }] of Object.entries(CLIENTS)) {
  test(`${name}: waits for the end of a run that takes longer than a request`, async (t) => {
    const running = await startHttp(t, { holdMs: 200 });
    const { port, caPath, key } = running;
    const mine = await key();
    const record = call({ port, caPath, key: mine, method: "submitAndWait", args: [PROGRAM] });
    await until(() => logged(running, '"status":408') >= 2);
    await finished(running);
    const { value } = await record;
    assert.deepEqual([value.status, value.result.verdict, value.output.stdout], ["completed", "AC", "1\n"]);
    assert.equal((await call({ port, caPath, key: mine, method: "submissions" })).value.submissions.length, 1);
  });

  test(`${name}: a request whose response is lost is repeated, and its program runs once`, async (t) => {
    const running = await startHttp(t);
    const { port, caPath, key, store } = running;
    const proxy = await startProxy(t, port);
    const mine = await key();
    const record = call({ port: proxy.port, caPath, key: mine, method: "submitAndWait", args: [PROGRAM] });
    await until(async () => (await store.submissions.depth()) === 1);
    proxy.cut();
    await until(() => proxy.connections() >= 2);
    assert.equal(await finished(running), 1);
    assert.equal((await record).value.result.verdict, "AC");
    assert.equal(await runPending(store), 0);
    assert.equal((await call({ port, caPath, key: mine, method: "submissions" })).value.submissions.length, 1);
  });

  test(`${name}: a request that could run twice is not repeated`, async (t) => {
    const { port, caPath, key, store } = await startHttp(t);
    const proxy = await startProxy(t, port);
    const cases = [{ expected: "1\n" }];
    const judged = call({
      ...{ port: proxy.port, caPath, key: await key(), method: "judge", args: [{ ...PROGRAM, cases }] },
    });
    await until(async () => (await store.submissions.depth()) === 1);
    proxy.cut();
    const { error } = await judged;
    assert.deepEqual([error?.code, error?.status, proxy.connections()], ["connection", 0, 1]);
    assert.equal(await store.submissions.depth(), 1);
  });

  test(`${name}: waits for Retry-After when the rate limit is reached`, async (t) => {
    const running = await startHttp(t);
    const { port, caPath, key, clock, ask } = running;
    const mine = await key({ requestsPerMinute: 1 });
    await ask({ path: "/api/health", key: mine });
    clock.nowMs += 58_000;
    const health = call({ port, caPath, key: mine, method: "health" });
    await until(() => logged(running, '"status":429') === 1);
    clock.nowMs += 2_000;
    assert.equal((await health).value.status, "ok");
    assert.equal(logged(running, '"status":429'), 1);
    // By the times in the log, because this process may have noticed the refusal late.
    const [refusedAt = 0, acceptedAt = 0] = ['"status":429', '"status":200'].map((text) =>
      running.logs.flatMap((line) => (line.includes(text) ? [timeOf(line)] : [])).at(-1),
    );
    assert.ok(acceptedAt - refusedAt > 1_950, "it came back before Retry-After");
  });

  test(`${name}: fails with status, text, request and Retry-After of the response`, async (t) => {
    const { port, caPath, key, clock, logs } = await startHttp(t);
    const wrong = await call({ port, caPath, key: "assay_live_wrong", method: "languages" });
    assert.equal(wrong.error?.code, "response");
    assert.equal(wrong.error?.message, "401: unauthorized: Missing or invalid API key");
    assert.ok(logs.some((line) => line.includes(`"${wrong.error?.requestId}"`)));
    const mine = await key({ requestsPerMinute: 1 });
    await call({ port, caPath, key: mine, method: "health" });
    clock.nowMs += 1_000;
    const { error } = await call({ port, caPath, key: mine, method: "health", retries: 0 });
    assert.deepEqual([error?.status, error?.retryAfterSecs], [429, 59]);
    const unknown = await call({ port, caPath, key: await key(), method: "result", args: [randomUUID()] });
    assert.equal(unknown.error?.status, 404);
  });

  test(`${name}: ends at the deadline with the id of the run, which continues`, async (t) => {
    const running = await startHttp(t, { holdMs: 200 });
    const { port, caPath, key } = running;
    const mine = await key();
    const idempotencyKey = randomUUID();
    const submitAndWait = (timeoutMs: number) => {
      const options = { timeoutMs, idempotencyKey };
      return call({ port, caPath, key: mine, method: "submitAndWait", args: [PROGRAM], options });
    };
    let timeoutMs = 1_500;
    let { error } = await submitAndWait(timeoutMs);
    // On a busy machine, the deadline can come before the service has answered with an id.
    while (error?.id === undefined && timeoutMs < 20_000) {
      assert.equal(error?.code, "deadline");
      timeoutMs *= 2;
      ({ error } = await submitAndWait(timeoutMs));
    }
    assert.equal(error?.code, "deadline");
    await finished(running);
    const { value } = await call({ port, caPath, key: mine, method: "wait", args: [error?.id] });
    assert.equal(value.result.verdict, "AC");
    // The key of the first call leads to its record.
    const again = await call({
      ...{ port, caPath, key: mine, method: "submitAndWait", args: [PROGRAM] },
      options: { idempotencyKey },
    });
    assert.equal(again.value.id, error?.id);
  });

  test(`${name}: follows no redirect, which could lead to another address`, async (t) => {
    const { port, caPath, received } = await startBetween(t, (response) =>
      response.writeHead(307, { location: "/elsewhere" }).end(),
    );
    const { error } = await call({ port, caPath, key: "k", method: "languages", retries: 0 });
    assert.ok(error);
    assert.deepEqual(received, ["/api/languages"]);
  });

  test(`${name}: waits for the date of a Retry-After, and leaves a long one to the caller`, async (t) => {
    let [isLong, untilMs] = [true, 0];
    const { port, caPath, received } = await startBetween(t, (response) => {
      // The date is chosen at the first request, because the client can take seconds to start.
      if (!isLong && untilMs === 0) untilMs = Math.ceil(Date.now() / 1000 + 1) * 1000;
      const header = isLong ? "3600" : new Date(untilMs).toUTCString();
      if (isLong || Date.now() < untilMs) response.writeHead(503, { "retry-after": header }).end("<html>busy</html>");
      else response.end("[]");
    });
    const ask = () => call({ port, caPath, key: "k", method: "languages" });
    const { error } = await ask();
    assert.deepEqual([error?.status, error?.retryAfterSecs], [503, 3600]);
    assert.equal(error?.message, "503: <html>busy</html>");
    isLong = false;
    assert.deepEqual((await ask()).value, []);
    assert.equal(received.length, 3);
  });
}
