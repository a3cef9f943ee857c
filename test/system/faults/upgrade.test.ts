import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NEWEST } from "../../../src/store/schema/migrate.ts";
import { postgresServer } from "../../support/store/temporary.ts";
import { postgresLedger } from "./ledger.ts";
import { Load } from "./load.ts";
import { makeNext } from "./next-release.ts";
import { installation } from "./real-serve.ts";

test("the next release starts alongside this one, migrates under load, and no request fails", {
  timeout: 180_000,
}, async (t) => {
  const server = await postgresServer();
  const url = server.url(await server.createDatabase());
  const settings = { ASSAY_DATABASE: url };
  const [before, after] = [installation(t, settings), installation(t, settings)];
  makeNext(after.checkout);
  const old = await before.serve("--workers", "2");
  const key = old.command("keys", "create", "--name", "k", "--rpm", "1000000", "--concurrency", "10");
  while (!(await old.isReady(key))) await sleep(50);
  const ledger = postgresLedger(url);
  t.after(() => ledger.close());
  const version = async () =>
    (await ledger.rows<{ version: number }>("select version from schema_version"))[0]?.version;

  const onOld = new Load([old.port], { k: key });
  t.after(() => onOld.close());
  const oldClients = Array.from({ length: 6 }, () => onOld.client("k", { pauseMs: 20 }));
  while (onOld.ended.size < 10) await sleep(20);
  assert.equal(await version(), NEWEST);
  const young = await after.serve("--workers", "2");
  assert.equal(await version(), NEWEST + 1);
  const migratedAt = onOld.ended.size;
  while (!(await young.isReady(key))) await sleep(50);
  const onNew = new Load([young.port], { k: key }, { first: 1_000_000 });
  t.after(() => onNew.close());
  const newClients = Array.from({ length: 6 }, () => onNew.client("k", { pauseMs: 20 }));
  while (onOld.ended.size < migratedAt + 40 || onNew.ended.size < 20) await sleep(20);
  onOld.end();
  await Promise.all(oldClients);
  const { lost, ...statuses } = onOld.answers;
  assert.equal(lost, undefined, "a connection to the old release was lost");
  assert.deepEqual(Object.keys(statuses).sort(), ["200", "202"], JSON.stringify(statuses));

  // The old release stops while the new one is under load. Everything that the old one accepted remains, unchanged.
  old.process.kill("SIGTERM");
  assert.equal(await old.ended, 0, old.words());
  await sleep(500);
  onNew.end();
  await Promise.all(newClients);
  assert.deepEqual(Object.keys(onNew.answers).sort(), ["200", "202"], JSON.stringify(onNew.answers));
  const seen = new Load([young.port], { k: key });
  t.after(() => seen.close());
  for (const load of [onOld, onNew]) {
    for (const [n, one] of load.submitted) seen.submitted.set(n, one);
    for (const [id, text] of load.ended) seen.ended.set(id, text);
  }
  await seen.settle((same) => same);
  seen.checkOutputs();
  const [count] = await ledger.rows<{ n: number }>("select count(*)::integer as n from submissions");
  assert.equal(count?.n, seen.submitted.size);
  t.diagnostic(`${onOld.ended.size} by the old release, ${onNew.ended.size} by the new release`);

  // The old release does not start again on the newer schema.
  const refused = `the database has schema version ${NEWEST + 1}, but this program knows only ${NEWEST}: run a newer release`;
  await assert.rejects(before.serve("--no-worker"), ({ message }) => message.includes(refused));
  young.process.kill("SIGTERM");
  assert.equal(await young.ended, 0, young.words());
});
