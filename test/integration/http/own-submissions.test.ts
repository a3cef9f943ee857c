import assert from "node:assert/strict";
import { test } from "node:test";
import { usageBody } from "../../../src/http/api/usage.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { SAMPLES } from "../../support/store/samples.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { DONE } from "../../support/webhooks/project.ts";

const LIMIT = { timeout: 20_000 };

onEachDatabase((open) => {
  test("the bytes of each stream can be read, whole or in ranges", LIMIT, async (t) => {
    const { submit, ask, store, key } = await startHttp(t, { open });
    const { id } = (await submit()).json;
    const path = `/api/result/${id}/stdout`;
    assert.deepEqual(
      [(await ask({ path })).status, (await ask({ path })).json.error],
      [404, "the submission has no output: it has not ended, or the platform failed"],
    );
    await runPending(store);
    const whole = await ask({ path });
    assert.deepEqual([whole.status, whole.text, whole.headers["content-length"]], [200, "1\n", "2"]);
    assert.equal(whole.headers["content-type"], "application/octet-stream");
    assert.equal(whole.headers["accept-ranges"], "bytes");
    for (const [range, status, body, part] of [
      ["bytes=0-0", 206, "1", "bytes 0-0/2"],
      ["bytes=1-", 206, "\n", "bytes 1-1/2"],
      ["bytes=-1", 206, "\n", "bytes 1-1/2"],
      ["bytes=-99", 206, "1\n", "bytes 0-1/2"],
      ["bytes=0-99", 206, "1\n", "bytes 0-1/2"],
      ["bytes=0-0,1-1", 200, "1\n", undefined],
      ["bytes=1-0", 200, "1\n", undefined],
      ["lines=0-1", 200, "1\n", undefined],
    ] as const) {
      const answer = await ask({ path, headers: { range } });
      assert.deepEqual([answer.status, answer.text, answer.headers["content-range"]], [status, body, part], range);
    }
    for (const range of ["bytes=2-", "bytes=5-9", "bytes=-0"]) {
      const outside = await ask({ path, headers: { range } });
      assert.deepEqual([outside.status, outside.headers["content-range"]], [416, "bytes */2"], range);
    }
    const empty = await ask({ path: `/api/result/${id}/stderr` });
    assert.deepEqual([empty.status, empty.text, empty.headers["content-length"]], [200, "", "0"]);
    const other = await key();
    assert.equal((await ask({ path, key: other })).status, 404);
  });

  test("the course of a run can be read once it has ended, by its account only", LIMIT, async (t) => {
    const { submit, ask, store, key } = await startHttp(t, { open });
    const { id } = (await submit()).json;
    const path = `/api/result/${id}/usage`;
    const before = await ask({ path });
    assert.deepEqual([before.status, before.json], [200, { id, usage: null }]);
    await runPending(store, () => ({ ...DONE, samples: SAMPLES }));
    const { json } = await ask({ path: `/api/result/${id.toUpperCase()}/usage` });
    assert.deepEqual(usageBody.parse(json), {
      id,
      usage: {
        step: "execute",
        wall_time_secs: 0.035,
        cpu_time_secs: 0.0201,
        memory_peak_bytes: 1_052_672,
        memory_limit_bytes: 2_097_152,
        samples: [
          { at_secs: 0.0101, cpu_time_secs: 0.0099, memory_bytes: 4_096 },
          { at_secs: 0.02, cpu_time_secs: 0.0099, memory_bytes: 1_048_576 },
          { at_secs: 0.0304, cpu_time_secs: 0.02, memory_bytes: 8_192 },
        ],
      },
    });
    const record = (await ask({ path: `/api/result/${id}` })).text;
    assert.ok(!record.includes("samples"), record);
    assert.equal((await ask({ path, key: await key() })).status, 404);
    for (const unknown of ["00000000-0000-4000-8000-000000000000", "%00", "x".repeat(90)])
      assert.equal((await ask({ path: `/api/result/${unknown}/usage` })).status, 404, unknown);
    assert.equal((await ask({ path: `${path}?x=1` })).status, 400);
  });

  test("a poll with wait=true is answered at the end of the run", LIMIT, async (t) => {
    const { submit, ask, store } = await startHttp(t, { open });
    const { id } = (await submit()).json;
    const waiting = ask({ path: `/api/result/${id}?wait=true` });
    while ((await runPending(store)) === 0);
    assert.equal((await waiting).json.status, "completed");
    assert.equal((await ask({ path: `/api/result/${id}?wait=maybe` })).status, 400);
  });

  test("a cancelled submission ends once, and a client that waits gets it", LIMIT, async (t) => {
    const { submit, ask, store, key } = await startHttp(t, { open });
    const { id } = (await submit()).json;
    const waiting = ask({ path: `/api/result/${id}?wait=true` });
    const other = await key();
    const cancel = (path: string, extra = {}) => ask({ method: "POST", path: `/api/result/${path}/cancel`, ...extra });
    assert.equal((await cancel(id, { key: other })).status, 404);
    const { status, json } = await cancel(id, { headers: { "content-type": "application/json" } });
    assert.equal(status, 200);
    assert.deepEqual([json.status, json.result.verdict, json.result.cause], ["error", "IE", "cancelled"]);
    assert.deepEqual((await waiting).json, json);
    assert.equal(await runPending(store), 0);
    assert.deepEqual((await cancel(id)).json, json);

    const next = (await submit()).json.id;
    const [claim] = await store.submissions.claim("worker", 10_000);
    assert.equal(claim?.submission.id, next);
    assert.equal((await cancel(next)).json.result.cause, "cancelled");
    assert.equal(await store.submissions.renew(claim?.lease ?? assert.fail(), 10_000), false, "the worker has lost it");

    const ended = (await submit()).json.id;
    await runPending(store);
    assert.equal((await cancel(ended)).json.result.verdict, "AC", "an ended submission stays as it is");
  });

  test("the account's submissions are listed, newest first, by pages and filters", LIMIT, async (t) => {
    const { submit, ask, key } = await startHttp(t, { open });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await submit({ language: n === 2 ? "c" : "python", code: "x" })).json.id);
    await submit(undefined, { key: await key() });
    const list = async (query: string) => (await ask({ path: `/api/submissions${query}` })).json;
    const all = await list("");
    assert.deepEqual(
      all.submissions.map(({ id }: { id: string }) => id),
      ids,
    );
    assert.deepEqual(Object.keys(all.submissions[0]), [
      ...["id", "status", "verdict", "language", "profile", "created_at", "started_at", "completed_at"],
    ]);
    const first = await list("?limit=3");
    const second = await list(`?limit=3&before=${first.next}`);
    const both = [...first.submissions, ...second.submissions];
    assert.deepEqual(
      both.map(({ id }: { id: string }) => id),
      ids,
    );
    assert.equal((await list("?language=c")).submissions.length, 1);
    for (const id of ids.slice(0, 2)) await ask({ method: "POST", path: `/api/result/${id}/cancel` });
    assert.equal((await list("?status=pending")).submissions.length, 3);
    assert.equal((await list("?verdict=IE&status=error")).submissions.length, 2);
    for (const query of ["?limit=0", "?limit=101", "?verdict=WA", "?before=x", "?status=done"])
      assert.equal((await ask({ path: `/api/submissions${query}` })).status, 400, query);
    assert.match((await ask({ path: "/api/submissions?page=2" })).json.error, /unknown query parameter/);
  });

  test("a batch accepts or rejects each submission by itself", LIMIT, async (t) => {
    const { ask, store, key } = await startHttp(t, { open, maxPending: 100 });
    const batch = async (body: unknown, extra = {}) =>
      await ask({ method: "POST", path: "/api/submissions/batch", body: JSON.stringify(body), ...extra });
    const good = { language: "python", code: "x" };
    const { status, json } = await batch([good, { language: "cobol", code: "x" }, "text", { ...good, code: "" }, good]);
    assert.equal(status, 202);
    assert.deepEqual(
      json.map(({ error, status }: Record<string, string>) => error ?? status),
      [
        "pending",
        'unsupported language: "cobol"; available languages: python, c',
        "request body must be a JSON object",
        "code must not be empty",
        "pending",
      ],
    );
    assert.deepEqual([json[0].queue_depth, json[4].queue_depth], [1, 2]);
    for (const body of [[], {}, Array(51).fill(good)]) assert.equal((await batch(body)).status, 400);
    const twice = await ask({
      method: "POST",
      path: "/api/submissions/batch",
      body: '[{"language": "python", "code": "x", "code": "y"}]',
    });
    assert.match(twice.json.error, /duplicate field/);

    const few = await key({ requestsPerMinute: 3 });
    const limited = (await batch(Array(5).fill(good), { key: few })).json;
    assert.equal(limited.filter(({ error }: { error?: string }) => error === "API key quota exceeded").length, 2);
    assert.equal(await store.submissions.depth(), 5);
  });

  test("a batch is bounded by the places of the account in the queue", LIMIT, async (t) => {
    const { ask } = await startHttp(t, { open, maxPending: 10 });
    const body = JSON.stringify(Array(20).fill({ language: "python", code: "x" }));
    const { json } = await ask({ method: "POST", path: "/api/submissions/batch", body });
    assert.equal(json.filter(({ status }: { status?: string }) => status === "pending").length, 5);
    assert.equal(json.filter(({ error }: { error?: string }) => /queue full/.test(error ?? "")).length, 15);
  });

  test("the details of a language have its commands, and limits in the units of a request", LIMIT, async (t) => {
    const { ask } = await startHttp(t, { open });
    const { json } = await ask({ path: "/api/languages/details" });
    assert.deepEqual(
      json.map(({ name }: { name: string }) => name),
      (await ask({ path: "/api/languages" })).json,
    );
    const [python, c] = json;
    assert.deepEqual([python.compile, python.source, python.limits.judge.compile], [null, "main.py", null]);
    assert.deepEqual(c.execute.command, ["./main"]);
    assert.equal(c.limits.judge.execute.memory_bytes, 268_435_456);
    assert.equal(c.limits.judge.execute.cpu_time_secs, 4);
  });

  test("events follow a submission to its end, and continue after the last received one", LIMIT, async (t) => {
    const { submit, ask, store } = await startHttp(t, { open });
    const { id } = (await submit({ language: "python", code: "x", stream: true })).json;
    const path = `/api/result/${id}/events`;
    const following = ask({ path });
    const [claim] = await store.submissions.claim("worker", 10_000);
    const { lease } = claim ?? assert.fail();
    const piece = (at: number, text: string) => ({ stream: "stdout" as const, at, bytes: Buffer.from(text) });
    await store.live.append(lease, 0, [piece(0, "one\n")]);
    await store.live.append(lease, 1, [piece(4, "two\n")]);
    const resumed = ask({ path, headers: { "last-event-id": `${lease.fence}-0` } });
    await new Promise((next) => setTimeout(next, 300));
    const { cancel } = store.submissions;
    await cancel(id, claim?.submission.accountId ?? "");
    const all = (await following).text;
    assert.match(
      all,
      /event: stdout\ndata: {"at":0,"text":"one\\n"}\n(.*\n)*event: stdout\ndata: {"at":4,"text":"two\\n"}/,
    );
    assert.match(all, /event: ended\ndata: {"id":.*"cause":"cancelled".*}\n\n$/);
    const rest = (await resumed).text;
    assert.doesNotMatch(rest, /one/);
    assert.match(rest, /two/);
    const later = await ask({ path });
    assert.match(later.text, /^event: ended\n/);
    assert.equal(later.headers["content-type"], "text/event-stream; charset=utf-8");
  });
});
