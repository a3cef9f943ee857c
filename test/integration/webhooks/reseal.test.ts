import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import { createEndpoint, rotateEndpointSecret } from "../../../src/admin/endpoints.ts";
import { provenSealerOf } from "../../../src/cli/webhook-settings.ts";
import { reseal } from "../../../src/cli/webhooks.ts";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import type { Store } from "../../../src/store/store.ts";
import { Deliverer } from "../../../src/webhooks/deliverer.ts";
import { addKey } from "../../../src/webhooks/key-file.ts";
import { fileSealer, keySealer } from "../../../src/webhooks/seal.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { type OpenTemporary, onEachDatabase, type Temporary } from "../../support/store/temporary.ts";
import { ACTOR, addProject, endOne } from "../../support/webhooks/project.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";

const run = promisify(execFile);
const certificates = makeCertificates();
const RESEALING = new URL("./resealing.ts", import.meta.url).pathname;
const HOUR_MS = 3_600_000;

/** A database with one key file. */
async function fixture(t: TestContext, open: OpenTemporary) {
  const temporary = await open(t);
  const { store, database } = temporary;
  const directory = mkdtempSync(join(tmpdir(), "assay-reseal-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "webhook.key");
  const sealer = fileSealer({ path, make: true });
  const project = await addProject(store);
  const config = { database, secretKey: { path, make: false } };
  const add = async (url = "https://receiver.example/hook") => {
    const { made } = await createEndpoint(
      { store, sealer, checkUrl: async () => null },
      { project: project.id, url },
      ACTOR,
    );
    return made;
  };
  return { temporary, store, path, sealer, project, config, add };
}

/** Adds endpoints without the limit of a project. */
async function addMany(store: Store, projectId: string, sealer: ReturnType<typeof keySealer>, amount: number) {
  for (let at = 0; at < amount; at++) {
    const id = randomUUID();
    const endpoint = { id, projectId, url: "https://receiver.example/", signing: "standard" } as const;
    await store.endpoints.add({ ...endpoint, seal: () => sealer.seal(id, `whsec_${at}`) }, amount, ACTOR);
  }
}

const entriesOf = async (store: Store) =>
  (await store.audit.list({ max: 100 })).filter(({ action }) => action === "endpoint.reseal");

/** Every stored secret, opened with the key file. */
async function allOpened({ store }: Pick<Temporary, "store">, path: string): Promise<string[]> {
  const sealer = fileSealer({ path, make: false });
  const all: string[] = [];
  await store.secrets.proven(
    (id, sealed) => void all.push(sealer.open(id, sealed)),
    () => {},
  );
  return all.toSorted();
}

/** On PostgreSQL, blocks the change's audit entry for a while, so that its transaction lasts longer. */
async function heldUp({ database }: Temporary, change: () => Promise<unknown>): Promise<void> {
  if (database.kind === "sqlite") return void (await change());
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query("begin; lock table audit in exclusive mode");
    const changing = change();
    await sleep(300);
    await client.query("commit");
    await changing;
  } finally {
    await client.end();
  }
}

onEachDatabase((open) => {
  test("a new key seals current and former secrets, and the unused old key is removed", async (t) => {
    const { temporary, store, path, sealer, config, add } = await fixture(t, open);
    const made = await add();
    const removed = await add();
    const rotated = await rotateEndpointSecret({ store, sealer }, made.id, HOUR_MS, ACTOR);
    await store.endpoints.remove(removed.id, ACTOR);
    const old = readFileSync(path);
    if (config.database.kind === "postgres") {
      await assert.rejects(reseal(store, config, { newKey: true }), /other machines .*--one-machine/);
      assert.deepEqual(readFileSync(path), old);
    }
    const options = { newKey: true, forgetOld: true, oneMachine: true } as const;
    assert.deepEqual(await reseal(store, config, options), { secrets: 2, resealed: 2, forgotten: 1 });
    assert.equal(readFileSync(path).length, 32);
    assert.equal(readFileSync(path).equals(old), false);
    assert.deepEqual(await allOpened(temporary, path), [made.secret, rotated.secret].toSorted());
    const [entry, ...more] = await entriesOf(store);
    const [second] = more;
    assert.deepEqual(
      [entry?.detail, second?.detail],
      [
        { current: 0, former: 1 },
        { current: 1, former: 0 },
      ],
    );
    assert.deepEqual([entry?.actor, entry?.accountId, more.length], ["cli", null, 1]);
    assert.deepEqual(await reseal(store, config, {}), { secrets: 2, resealed: 0, forgotten: 0 });
    assert.equal((await entriesOf(store)).length, 2, "no entry without a change");
  });

  test("reseals at most 500 secrets in a transaction", async (t) => {
    const { temporary, store, path, sealer, project, config } = await fixture(t, open);
    await addMany(store, project.id, sealer, 501);
    addKey(path);
    assert.deepEqual(await reseal(store, config, {}), { secrets: 501, resealed: 501, forgotten: 0 });
    const counts = (await entriesOf(store)).map(({ detail }) => detail.current);
    assert.deepEqual(counts, [1, 500]);
    assert.equal((await allOpened(temporary, path)).length, 501);
  });

  test("the next command completes a command that was killed between two parts", async (t) => {
    const { temporary, store, path, sealer, project, config } = await fixture(t, open);
    await addMany(store, project.id, sealer, 5);
    const before = await allOpened(temporary, path);
    addKey(path);
    const settings = (dies: boolean) => JSON.stringify({ database: config.database, path, dies });
    await assert.rejects(run(process.execPath, [RESEALING, settings(true)]), { signal: "SIGKILL" });
    assert.deepEqual(await allOpened(temporary, path), before, "both keys are needed and exist");
    const { stdout } = await run(process.execPath, [RESEALING, settings(false)]);
    assert.deepEqual(JSON.parse(stdout), { secrets: 5, resealed: 3, forgotten: 0 });
    assert.deepEqual(await reseal(store, config, { forgetOld: true }), { secrets: 5, resealed: 0, forgotten: 1 });
    assert.deepEqual(await allOpened(temporary, path), before);
  });

  test("two concurrent processes seal each secret once", async (t) => {
    const { temporary, store, path, sealer, project, config } = await fixture(t, open);
    await addMany(store, project.id, sealer, 20);
    const before = await allOpened(temporary, path);
    addKey(path);
    const settings = JSON.stringify({ database: config.database, path, dies: false });
    const both = await Promise.all([1, 2].map(() => run(process.execPath, [RESEALING, settings])));
    const counts = both.map(({ stdout }) => JSON.parse(stdout).resealed as number);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      20,
    );
    assert.deepEqual(await allOpened(temporary, path), before);
  });

  test("keeps an old key while another machine still seals with it", async (t) => {
    const { store, path, sealer, config, add, project } = await fixture(t, open);
    await add();
    const elsewhere = keySealer(readFileSync(path));
    addKey(path);
    const { secrets } = store;
    const part = secrets.reseal.bind(secrets);
    t.mock.method(secrets, "reseal", async (...args: Parameters<typeof part>) => {
      const done = await part(...args);
      if (done.next === null) await addMany(store, project.id, elsewhere, 2);
      return done;
    });
    await assert.rejects(reseal(store, config, { forgetOld: true }), /sealed with an old key, which stays: repeat/);
    assert.equal(readFileSync(path).length, 64);
    t.mock.restoreAll();
    assert.equal((await reseal(store, config, { forgetOld: true })).forgotten, 1);
    assert.equal(sealer.open("x", sealer.seal("x", "y")), "y");
  });

  test("a proof that begins while a secret is sealed waits until it is stored, and includes it", async (t) => {
    const { temporary, store, project } = await fixture(t, open);
    const other = await temporary.another();
    let seen: string[] = [];
    let proof: Promise<void> | undefined;
    const sealing = (sealed: string) => () => {
      seen = [];
      proof = other.secrets.proven(
        (_, found) => void seen.push(found.toString()),
        () => {},
      );
      return Buffer.from(sealed);
    };
    const id = randomUUID();
    const endpoint = { id, projectId: project.id, url: "https://receiver.example/", signing: "standard" } as const;
    await heldUp(temporary, () => store.endpoints.add({ ...endpoint, seal: sealing("new") }, 1, ACTOR));
    await proof;
    assert.deepEqual(seen, ["new"]);
    const overlap = { overlapMs: HOUR_MS, mostFormer: 1 };
    await heldUp(temporary, () => store.endpoints.setSecret(id, sealing("next"), overlap, ACTOR));
    await proof;
    assert.deepEqual(seen, ["next", "new"]);
  });

  test("refuses a key file that lacks a needed key, without changes", async (t) => {
    const { store, path, config, add, sealer } = await fixture(t, open);
    const { id } = await add();
    const [old, young] = [readFileSync(path), randomBytes(32)];
    writeFileSync(path, Buffer.concat([young, old]));
    await rotateEndpointSecret({ store, sealer }, id, HOUR_MS, ACTOR);
    writeFileSync(path, young);
    const refused = new RegExp(`the secret of endpoint ${id} cannot be decrypted`);
    await assert.rejects(provenSealerOf(store, config), refused, "former secrets must be checked as well");
    const options = { newKey: true, forgetOld: true, oneMachine: true } as const;
    await assert.rejects(reseal(store, config, options), refused);
    assert.deepEqual(readFileSync(path), young);
    rmSync(path);
    await assert.rejects(reseal(store, config, options), /webhook\.key does not exist/);
    assert.deepEqual(await entriesOf(store), []);
  });

  test("a service delivers while its key is replaced", { timeout: 30_000 }, async (t) => {
    const { temporary, store, sealer, project, config, add } = await fixture(t, open);
    Object.defineProperty(temporary.clock, "nowMs", { get: () => Date.now() });
    const receiver = await startReceiver(t, certificates, (response) => response.end());
    const { id, secret } = await add(receiver.url);
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
    const other = await temporary.another();
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      ids.push(await endOne(store, project));
      await reseal(other, config, { newKey: true, forgetOld: true, oneMachine: true });
      ids.push(await endOne(store, project));
    }
    await receiver.until(ids.length);
    const states = async () => (await store.deliveries.list({ max: 100, endpointId: id })).map(({ state }) => state);
    while ((await states()).includes("pending")) await sleep(10);
    assert.deepEqual(
      await states(),
      ids.map(() => "delivered"),
    );
    for (const { body, headers } of receiver.received)
      new Webhook(secret).verify(body, headers as Record<string, string>);
    assert.deepEqual(
      [...new Set(receiver.received.map(({ headers }) => headers["webhook-id"]))].toSorted(),
      ids.toSorted(),
    );
  });
});
