import assert from "node:assert/strict";
import { request } from "node:https";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliDecompressSync } from "node:zlib";
import { createProject } from "../../../../src/admin/projects.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { certificate, runPending } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { report } from "../../../support/verdict/reports.ts";
import { watch } from "./watching.ts";

const SUBMISSIONS = "/submissions";

onEachDatabase((open) => {
  test("a list is found by cause, beginning of an id and time range, counted, and sorted both ways", async (t) => {
    const { running, ada, eve, projectId } = await startTwoTenants(t, { open });
    const { submit, store } = running;
    const key = await running.key({ project: "shop" });
    const ids: string[] = [];
    const end = (outcome: Parameters<typeof buildOutcome>[0]) => runPending(store, () => buildOutcome(outcome));
    for (const outcome of [{ compile: report({ exitCode: 1 }) }, { execute: report({ exitCode: 1 }) }]) {
      ids.push((await submit(undefined, { key })).json.id);
      await end(outcome);
    }
    const [compiled = "", ran = ""] = ids;
    const find = async (query: string, who = ada) => {
      const { status, json } = await who("GET", `${SUBMISSIONS}?${query}`);
      assert.equal(status, 200, JSON.stringify(json));
      return json.submissions.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await find("cause=compile_error"), [compiled]);
    assert.deepEqual(await find("verdict=RE&cause=nonzero_exit"), [ran]);
    assert.deepEqual(await find(`id=${compiled.slice(0, 8).toUpperCase()}`), [compiled]);
    assert.deepEqual(await find(`id=${compiled.slice(0, 8)}`, eve), []);
    assert.deepEqual(await find("order=oldest&range=15m"), ids);
    assert.deepEqual(await find(`range=1h&project=${projectId}`), ids.toReversed());
    assert.deepEqual((await ada("GET", `${SUBMISSIONS}/total?cause=compile_error`)).json, {
      matches: 1,
      isWhole: true,
    });
    assert.deepEqual((await eve("GET", `${SUBMISSIONS}/total`)).json, { matches: 0, isWhole: true });
    assert.deepEqual((await ada("GET", "/judgements/total?range=7d")).json, { matches: 0, isWhole: true });
    for (const query of ["id=abc", "id=zzzzzzzz", `id=${compiled}0`, "cause=nothing", "range=2h", "order=up"]) {
      for (const path of ["", "/total", "/live", "/csv"])
        assert.equal((await ada("GET", `${SUBMISSIONS}${path}?${query}`)).status, 400, query);
    }
  });

  test("a list is followed: nothing is sent that is known, then changed and new rows alone", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada } = club;
    const { submit, store } = running;
    const key = await running.key({ project: "shop" });
    const first = (await submit(undefined, { key })).json.id;
    const { mark } = (await ada("GET", `${SUBMISSIONS}?status=pending`)).json;
    const query = `live?status=pending&mark=${encodeURIComponent(mark)}`;
    const list = await watch(running, ada.person, query, "submissions", "");
    await list.next("alive");
    await runPending(store);
    const { data } = await list.next("state");
    assert.deepEqual(
      data.rows.map(({ id, verdict }: { id: string; verdict: string }) => [id, verdict]),
      [[first, "AC"]],
      "a row that no longer matches is followed to its end",
    );
    const second = (await submit(undefined, { key })).json.id;
    const { data: more } = await list.next("state", 2);
    assert.deepEqual([more.rows.map(({ id }: { id: string }) => id), more.gap], [[second], false]);
    // Rows of another account cause no event.
    await submit(undefined, { key: await running.key({ project: "blog" }) });
    await sleep(1_500);
    assert.equal(list.received.filter(({ event }) => event === "state").length, 2);
    const other = await watch(running, ada.person, "live?mark=old", "submissions", "");
    assert.equal((await other.next("state")).data.rows.length, 2, "with an unknown mark, the page");
    await store.people.update(ada.person.id, { accountIds: [] }, "test");
    await list.ended;
    await other.ended;
  });

  test("a list is exported as CSV, in which no text of a tenant is a formula", async (t) => {
    const { running, ada, eve, accountId } = await startTwoTenants(t, { open });
    const { submit, store } = running;
    await createProject(store, { name: "=1+1", account: "club" }, "test").catch(() => {});
    const key = await running.key({ project: "shop", name: '@SUM(1),"x"' });
    for (let n = 0; n < 5; n++) await submit(undefined, { key });
    await runPending(store);
    const { text, headers, status } = await ada("GET", `${SUBMISSIONS}/csv?account=${accountId}&order=oldest`);
    assert.equal(status, 200);
    assert.match(String(headers["content-type"]), /^text\/csv/);
    assert.match(String(headers["content-disposition"]), /attachment; filename="submissions.csv"/);
    const lines = text.split("\r\n");
    assert.equal(lines.length, 7);
    assert.match(lines[0] ?? "", /^id,status,verdict,cause,language,/);
    assert.match(lines[1] ?? "", /^[0-9a-f-]{36},completed,AC,normal_exit,python,judge,club,shop,"'@SUM\(1\),""x""",2/);
    assert.equal((await eve("GET", `${SUBMISSIONS}/csv`)).text.split("\r\n").length, 2);
    assert.equal((await eve("GET", `${SUBMISSIONS}/csv?account=${accountId}`)).status, 404);
  });
});

test("answers have tags, and are compressed; changes and their secrets are not", async (t) => {
  const { running, ada, eve } = await startTwoTenants(t);
  const { submit, store } = running;
  const key = await running.key({ project: "shop" });
  for (let n = 0; n < 20; n++) await submit(undefined, { key });
  const ask = (path: string, headers: Record<string, string> = {}) =>
    ada.person.ask({ path: `/dashboard/api${path}`, headers });
  const plain = await ask(SUBMISSIONS);
  const tag = String(plain.headers.etag);
  assert.match(tag, /^W\/"[\w-]{22}"$/);
  assert.equal(plain.headers["cache-control"], "no-store");
  assert.equal(plain.headers["content-encoding"], undefined);
  const again = await ask(SUBMISSIONS, { "if-none-match": tag });
  assert.deepEqual([again.status, again.text], [304, ""]);
  const packed = await bytesOf(running.port, `/dashboard/api${SUBMISSIONS}`, ada.person.cookie);
  assert.equal(packed.encoding, "br");
  assert.equal(brotliDecompressSync(packed.bytes).toString(), plain.text);
  assert.ok(packed.bytes.length < plain.text.length / 4, `${packed.bytes.length} of ${plain.text.length} bytes`);
  const csv = await bytesOf(running.port, `/dashboard/api${SUBMISSIONS}/csv`, ada.person.cookie);
  assert.equal(csv.encoding, "br");
  assert.match(brotliDecompressSync(csv.bytes).toString(), /^id,status/);
  const made = await ada.person.ask({
    method: "POST",
    path: "/dashboard/api/projects",
    body: { name: "x".repeat(60), accountId: (await ada("GET", "/session")).json.person.accounts[0].id },
    headers: { "accept-encoding": "br" },
  });
  assert.equal(made.status, 200, made.text);
  assert.deepEqual([made.headers["content-encoding"], made.headers.etag], [undefined, undefined]);

  await t.test("a submission that has ended is not sent again, and only to members of its account", async () => {
    const long = buildOutcome({ execute: report({ stdout: Buffer.alloc(100_000, "x") }) });
    await runPending(store, () => long);
    const id = (await ada("GET", `${SUBMISSIONS}?status=completed`)).json.submissions[0].id;
    const path = `${SUBMISSIONS}/${id}`;
    const whole = await ask(path);
    const known = { "if-none-match": String(whole.headers.etag) };
    assert.ok(whole.text.length > 100_000);
    const unchanged = await ask(path, known);
    assert.deepEqual([unchanged.status, unchanged.text], [304, ""]);
    const refused = await eve.person.ask({ path: `/dashboard/api${path}`, headers: known });
    assert.equal(refused.status, 404);
    const small = await bytesOf(running.port, `/dashboard/api${path}`, ada.person.cookie);
    assert.equal(small.encoding, "br");
    assert.ok(small.bytes.length < 5_000, `${small.bytes.length} bytes`);
    assert.equal(JSON.parse(brotliDecompressSync(small.bytes).toString()).row.id, id);
  });
});

/** The answer as sent to a browser. */
function bytesOf(port: number, path: string, cookie: string): Promise<{ bytes: Buffer; encoding: string | undefined }> {
  certificate();
  return new Promise((resolve, reject) => {
    const headers = { cookie, "accept-encoding": "gzip, deflate, br, zstd" };
    const sent = request({ host: "127.0.0.1", port, path, headers, agent: false, rejectUnauthorized: false });
    sent.on("error", reject).on("response", async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ bytes: Buffer.concat(chunks), encoding: response.headers["content-encoding"] });
    });
    sent.end();
  });
}
