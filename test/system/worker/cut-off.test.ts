import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../../src/store/open.ts";
import { dataDirectory, NOBODY, worker, workerWithin } from "../../support/cli/processes.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, runningProgramsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { addKey, enqueue } from "../../support/store/temporary.ts";
import { ownNetwork } from "./own-network.ts";

const LEASE_MS = 2_000;
/** In `assay test full`, this is long enough that TCP's retransmissions would pause for minutes more. */
const CUT_MS = Number(process.env.ASSAY_TEST_CUT_SECONDS ?? 6) * 1_000;
/** A statement without a response ends after 35 s. */
const BACK_MS = 45_000;

test("a worker whose packets are dropped ends its runs, affects no other worker, and resumes when packets arrive again", {
  timeout: 300_000,
}, async (t) => {
  const network = await ownNetwork(t);
  const server = await PostgresServer.start(network.address);
  const name = await server.createDatabase();
  const store = await openStore({ database: { kind: "postgres", url: server.url(name) } });
  t.after(() => store.close());
  t.after(() => server.stop());
  const key = await addKey(store, "a", { concurrency: 10 });
  process.env.ASSAY_LEASE_MS = String(LEASE_MS);
  t.after(() => delete process.env.ASSAY_LEASE_MS);
  const launchers = [
    await startLauncher({ slots: 3, clientUid: NOBODY }),
    await startLauncher({ slots: 3, clientUid: NOBODY }),
  ] as const;
  const flags = (at: 0 | 1, host?: string) => [
    ...["--workers", "2", "--launcher-socket", launchers[at].socket],
    ...["--database", server.url(name, host)],
  ];
  const cut = await workerWithin(network.within, t, dataDirectory(t), ...flags(0, network.address));
  const submit = async (code: string) => {
    const accepted = await enqueue(store, key, { code, nowMs: Date.now() });
    assert.ok(accepted.kind === "enqueued");
    return accepted.submission.id;
  };
  const end = (id: string) => store.submissions.whenTerminal(id, key.accountId, AbortSignal.timeout(BACK_MS));

  // One run ends while the worker is cut off; the other would run longer than its lease.
  const short = await submit("import time; time.sleep(1); print('short')");
  const long = await submit("import time; time.sleep(8); print('long')");
  const isRunning = async (id: string) => (await store.submissions.get(id, key.accountId))?.status === "running";
  while (!((await isRunning(short)) && (await isRunning(long)))) await sleep(10);
  while (runningProgramsOf(launchers[0]).length < 2) await sleep(10);
  network.cut();
  const cutAt = performance.now();
  // They end within five seconds, which is before the program would end by itself.
  await eventually(
    "the cut-off worker ends runs with leases that it cannot renew",
    () => runningProgramsOf(launchers[0]).length === 0,
  );

  const other = await worker(t, dataDirectory(t), ...flags(1));
  const ends = await Promise.all([short, long].map(end));
  assert.deepEqual(
    ends.map((one) => [one?.status, one?.attempts, one?.outcome?.output?.stdout.toString()]),
    [
      ["completed", 2, "short\n"],
      ["completed", 2, "long\n"],
    ],
  );
  other.process.kill("SIGTERM");
  assert.equal(await other.ended, 0, other.output());
  const waiting = await submit("print('back')");
  await sleep(Math.max(0, CUT_MS - (performance.now() - cutAt)));
  assert.equal((await store.submissions.get(waiting, key.accountId))?.status, "pending", "no worker is connected");
  network.heal();
  const healedAt = performance.now();
  const back = await end(waiting);
  assert.deepEqual([back?.status, back?.attempts], ["completed", 1]);
  t.diagnostic(`the worker resumed ${(performance.now() - healedAt).toFixed(0)} ms after the network was back`);
  assert.deepEqual(await Promise.all([short, long].map(end)), ends, "its late results changed nothing");
  for (const id of await Promise.all(Array.from({ length: 6 }, (_, n) => submit(`print(${n})`))))
    assert.equal((await end(id))?.attempts, 1);

  cut.process.kill("SIGTERM");
  assert.equal(await cut.ended, 0, cut.output());
  for (const launcher of launchers) {
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await tracesLeft(launcher), []);
  }
});
