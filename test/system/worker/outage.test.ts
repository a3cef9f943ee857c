import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { openStore } from "../../../src/store/open.ts";
import { Worker } from "../../../src/worker/worker.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { addKey, enqueue } from "../../support/store/temporary.ts";
import { someLanguages } from "../../support/worker/some-languages.ts";

let launcher: Launcher;
let server: PostgresServer;
before(async () => {
  [launcher, server] = await Promise.all([startLauncher({ slots: 2 }), PostgresServer.start()]);
});
after(async () => {
  await server.stop();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

test("a restart of the database loses no result, repeats no run, and work resumes", {
  timeout: 60_000,
}, async (t) => {
  const database = { kind: "postgres", url: server.url(await server.createDatabase()) } as const;
  const store = await openStore({ database });
  const worker = Worker.start({
    foreignApis: FOREIGN_APIS,
    store,
    languages: someLanguages(["python"]),
    launcherSocket: launcher.socket,
    workers: 1,
    leaseMs: 10_000,
    drainMs: 0,
    log: pino({ level: "silent" }),
  });
  t.after(async () => {
    await worker.stop();
    await store.close();
  });
  await worker.begun;
  const key = await addKey(store, "a");
  const submit = async (code: string) => {
    const accepted = await enqueue(store, key, { code, nowMs: Date.now() });
    assert.ok(accepted.kind === "enqueued");
    return accepted.submission.id;
  };
  const end = (id: string) => store.submissions.whenTerminal(id, key.accountId, AbortSignal.timeout(30_000));
  // One run ends during the outage, and another waits in the queue.
  const during = await submit("import time; time.sleep(1); print(1)");
  const behind = await submit("print(2)");
  while ((await store.submissions.depth()) > 1) await sleep(10);
  const ends = Promise.all([during, behind].map(end));
  await server.stop();
  await sleep(2_000);
  await server.start();
  for (const [at, ended] of (await ends).entries()) {
    assert.equal(ended?.status, "completed");
    assert.equal(ended.attempts, 1);
    assert.equal(ended.outcome?.output?.stdout.toString(), `${at + 1}\n`);
  }
});
