import assert from "node:assert/strict";
import { Agent } from "node:https";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { sendText } from "../../support/programs/product.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";
import { Load } from "./load.ts";
import { place, receiverSettings } from "./places.ts";

describe("a backup of a busy service", { concurrency: 2 }, () => {
  for (const [from, to, skip] of [
    ["SQLite", "PostgreSQL", false],
    ["PostgreSQL", "SQLite", SKIPS_LONG],
  ] as const) {
    test(`a backup of a busy ${from} is restored into ${to}: finished records are unchanged, and the rest ends there`, {
      timeout: 240_000,
      skip,
    }, async (t) => {
      const certificates = makeCertificates();
      const receiver = await startReceiver(t, certificates, (response) => setTimeout(() => response.end(), 100));
      const settings = { ...receiverSettings(t, certificates, receiver), ASSAY_LEASE_MS: "2000" };
      const { home } = await place(t, from, settings);
      const service = await home.serve("--workers", "2");
      home.command("projects", "create", "--name", "p");
      const key = home.command("keys", "create", "--name", "k", "--project", "p", "--rpm", "1000000");
      home.command("webhooks", "create", "--project", "p", "--url", receiver.url);
      while (!(await service.isReady(key))) await sleep(50);

      const load = new Load([service.port], { k: key }, { sleepSecs: 0.1 });
      t.after(() => load.close());
      // More clients than the workers serve while each pauses between polls, so that submissions always wait.
      const clients = Array.from({ length: 30 }, () => load.client("k"));
      while (load.ended.size < 30) await sleep(20);
      const before = new Map(load.ended);
      const file = join(home.data, "backup");
      const [made, stderr] = await home.piped("/dev/null", file, "backup");
      assert.equal(made, 0, stderr);
      while (load.ended.size < before.size + 20) await sleep(20);
      load.end();
      await Promise.all(clients);
      service.process.kill("SIGTERM");
      assert.equal(await service.ended, 0, service.words());
      const delivered = receiver.received.length;

      const secrets = { ASSAY_SECRET_KEY_FILE: join(home.data, "keys/webhook.key") };
      const { home: away, ledger } = await place(t, to, { ...settings, ...secrets });
      assert.deepEqual((await away.piped(file, "/dev/null", "restore"))[0], 0);
      const states = () =>
        ledger.rows<{ id: string; status: string }>("select id, status from submissions order by seq");
      const restored = await states();
      const underWay = restored.filter(({ status }) => status === "pending" || status === "running");
      t.diagnostic(
        `${before.size} had ended, ${restored.length} were restored, ${underWay.length} of them had not ended`,
      );
      assert.ok(underWay.length > 0, "no submission was under way");

      const next = await away.serve("--workers", "2");
      while (!(await next.isReady(key))) await sleep(50);
      const again = new Load([next.port], { k: key });
      t.after(() => again.close());
      // Records that had ended before the backup are unchanged, byte for byte; the others end with their own output.
      for (const [id, text] of before) again.ended.set(id, text);
      const there = new Set(restored.map(({ id }) => id));
      for (const [id] of before) assert.ok(there.has(id), id);
      for (const [n, one] of load.submitted) if ([...one.ids].every((id) => there.has(id))) again.submitted.set(n, one);
      assert.equal(again.submitted.size, restored.length);
      await again.settle((same) => same);
      again.checkOutputs();
      assert.deepEqual(
        (await states()).map(({ status }) => status),
        restored.map(() => "completed"),
      );

      // A repeated request gets the same submission there as well.
      const [n = 0, { ids } = assert.fail()] = [...again.submitted].at(-1) ?? assert.fail();
      const agent = new Agent({ rejectUnauthorized: false });
      t.after(() => agent.destroy());
      const headers = { "idempotency-key": `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` };
      const repeated = await sendText(agent, next.port, key, "POST", "/api/submit", load.bodyOf(n), headers);
      assert.deepEqual([repeated.status, JSON.parse(repeated.text).id], [202, [...ids][0]]);

      // Every message is delivered. The restored service sends those that had not been delivered by then.
      const pending = () => ledger.rows("select id from deliveries where state = 'pending'");
      while ((await pending()).length > 0) await sleep(100);
      assert.deepEqual(await ledger.rows("select id from deliveries where state != 'delivered'"), []);
      const byNew = receiver.received.slice(delivered);
      assert.ok(byNew.length >= underWay.length);
      for (const { body, headers } of byNew)
        assert.equal(body.toString(), again.ended.get(String(headers["webhook-id"])), "the message is not the record");
      next.process.kill("SIGTERM");
      assert.equal(await next.ended, 0, next.words());
    });
  }
});
