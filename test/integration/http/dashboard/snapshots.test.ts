import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { test } from "node:test";
import { type Asker, entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { MemorySandboxes } from "../../../support/http/memory-sandboxes.ts";
import type { Options } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const MIB = 1_048_576;

async function start(t: TestContext, open: NonNullable<Options["open"]>) {
  const club = await startTwoTenants(t, { open, sandboxesOver: (store) => new MemorySandboxes(store) });
  const { running, root } = club;
  const mine = await running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const theirs = await running.key({ account: "others", name: "their agent", profiles: ["agent"] });
  const judge = await running.key({ project: "shop", name: "judge", profiles: ["judge"] });
  const { keys } = (await root("GET", "/keys")).json;
  const idOf = (name: string): string => keys.find((key: { name: string }) => key.name === name).id;
  const keyIds = { mine: idOf("agent"), theirs: idOf("their agent"), judge: idOf("judge") };
  const send = async (key: string, method: string, path: string, body: object = {}) =>
    (await running.ask({ key, method, path: `/api${path}`, body })).json;
  const create = async (key: string = mine, body: object = {}): Promise<string> =>
    (await send(key, "POST", "/sandboxes", body)).id;
  return { ...club, keys: { mine, theirs, judge }, keyIds, send, create };
}

/** The details of the audit entries of a person's changes to sandboxes and snapshots, newest first. */
async function detailsOf({ running }: Pick<Awaited<ReturnType<typeof start>>, "running">, { person }: Asker) {
  const entries = await running.store.audit.list({ max: 100 });
  return entries
    .filter(({ actor, action }) => actor === person.email && /^(sandbox|snapshot)\./.test(action))
    .map(({ action, detail }) => [action, detail]);
}

onEachDatabase((open) => {
  test("a person creates a sandbox with a key of the account that has the profile agent", LIMIT, async (t) => {
    const club = await start(t, open);
    const { ada, eve, root, keyIds } = club;
    const of = async (ask: Asker) =>
      (await ask("GET", "/keys?profile=agent&state=live")).json.keys.map(({ id }: { id: string }) => id);
    assert.deepEqual(await of(ada), [keyIds.mine]);
    assert.deepEqual(await of(eve), [keyIds.theirs]);
    const offer = (await ada("GET", "/sandboxes/offer")).json;
    assert.deepEqual([offer.lifetimeSecs.default, offer.diskSizes], [3_600, []]);
    const wanted = {
      ...{ lifetime_secs: 120, idle_secs: 60, limits: { memory_bytes: 128 * MIB } },
      ...{ metadata: { task: "42" }, on_timeout: "snapshot" },
    };
    const made = await ada("POST", "/sandboxes", { keyId: keyIds.mine, ...wanted });
    assert.equal(made.status, 201, made.text);
    const { id } = made.json;
    const { row, lifetimeSecs, idleSecs, limits, onTimeout, from, lastSnapshot } = (
      await ada("GET", `/sandboxes/${id}`)
    ).json;
    assert.deepEqual(
      [row.state, row.key.name, row.project.name, row.metadata],
      ["running", "agent", "shop", { task: "42" }],
    );
    assert.deepEqual([lifetimeSecs, idleSecs, limits.memoryBytes, onTimeout], [120, 60, 128 * MIB, "snapshot"]);
    assert.deepEqual([from, lastSnapshot], [null, { id: null, error: null }]);
    assert.deepEqual(await entriesOf(club, ada), [["sandbox.create", id]]);
    assert.deepEqual(await detailsOf(club, ada), [["sandbox.create", { key: keyIds.mine }]]);
    // Another account's key is like an unknown one, and a key without the profile is refused, also for an administrator.
    for (const [ask, keyId, status] of [
      [eve, keyIds.mine, 404],
      [ada, keyIds.theirs, 404],
      [ada, "unknown", 404],
      [ada, keyIds.judge, 403],
      [root, keyIds.judge, 403],
    ] as const)
      assert.equal((await ask("POST", "/sandboxes", { keyId, ...wanted })).status, status, keyId);
    for (const [what, body] of Object.entries({
      "a lifetime of 0": { lifetime_secs: 0 },
      "more memory than a client may ask for": { limits: { memory_bytes: 2 ** 40 } },
      "a disk where there is none": { limits: { storage: "disk", disk_bytes: 1 } },
      "an unknown field": { account: club.other.accountId },
    })) {
      const refused = await ada("POST", "/sandboxes", { keyId: keyIds.mine, ...body });
      assert.equal(refused.status, 400, `${what}: ${refused.text}`);
    }
    assert.equal((await root("GET", "/sandboxes")).json.sandboxes.length, 1);
  });

  test("a revoked key, a suspended account and the rate limit of the key refuse a sandbox", LIMIT, async (t) => {
    const { ada, root, keyIds, accountId, running } = await start(t, open);
    const create = (keyId = keyIds.mine) => ada("POST", "/sandboxes", { keyId });
    await running.key({ project: "shop", name: "slow", profiles: ["agent"], requestsPerMinute: 1 });
    const { keys } = (await ada("GET", "/keys?name=slow")).json;
    assert.equal((await create(keys[0].id)).status, 201);
    assert.equal((await create(keys[0].id)).status, 429);
    await root("POST", `/accounts/${accountId}/suspend`);
    assert.deepEqual((await create()).status, 403);
    await root("POST", `/accounts/${accountId}/resume`);
    await root("POST", `/keys/${keyIds.mine}/revoke`);
    const revoked = await create();
    assert.match(revoked.json.error, /the API key was revoked or has expired/);
    assert.notEqual(revoked.status, 401, "the session of the person is valid");
  });

  test("a sandbox whose creation cannot be recorded in the audit trail is ended", LIMIT, async (t) => {
    const { ada, keyIds, running } = await start(t, open);
    const { audit } = running.store;
    const { noteChange } = audit;
    audit.noteChange = async () => {
      throw new Error("the disk is full");
    };
    assert.equal((await ada("POST", "/sandboxes", { keyId: keyIds.mine })).status, 500);
    audit.noteChange = noteChange;
    const { sandboxes } = (await ada("GET", "/sandboxes")).json;
    assert.deepEqual(
      sandboxes.map(({ state }: { state: string }) => state),
      ["ended"],
    );
  });

  test("snapshots are listed, taken, used and deleted, each with an entry in the audit trail", LIMIT, async (t) => {
    const club = await start(t, open);
    const { ada, eve, root, accountId, projectId, keyIds, keys, create, send } = club;
    const id = await create();
    const theirs = await create(keys.theirs);
    const taken = await ada("POST", `/sandboxes/${id}/snapshots`, { name: "before the change" });
    assert.equal(taken.status, 201, taken.text);
    const other = (await send(keys.theirs, "POST", `/sandboxes/${theirs}/snapshots`)).id;
    const ids = async (ask: Asker, query = "") =>
      (await ask("GET", `/snapshots${query}`)).json.snapshots.map(({ id }: { id: string }) => id);
    assert.deepEqual(await ids(ada), [taken.json.id]);
    assert.deepEqual(await ids(eve), [other]);
    assert.deepEqual(await ids(root), [other, taken.json.id]);
    assert.deepEqual(await ids(root, `?account=${accountId}`), [taken.json.id]);
    assert.deepEqual(await ids(root, `?project=${projectId}`), [taken.json.id]);
    assert.deepEqual((await eve("GET", `/snapshots?account=${accountId}`)).json, NOT_THERE);
    const page = (await root("GET", "/snapshots?limit=1")).json;
    assert.deepEqual([page.snapshots.length, page.isOn], [1, true]);
    const rest = (await root("GET", `/snapshots?limit=1&before=${page.next}`)).json;
    assert.deepEqual([rest.snapshots[0].id, rest.next], [taken.json.id, null]);
    const [row] = rest.snapshots;
    assert.deepEqual([row.name, row.sandboxId, row.bytes, row.files], ["before the change", id, 2000, 3]);
    assert.deepEqual([row.account.name, row.project.name, row.key.name], ["club", "shop", "agent"]);
    const from = (await ada("POST", "/sandboxes", { keyId: keyIds.mine, from: taken.json.id })).json.id;
    assert.equal((await ada("GET", `/sandboxes/${from}`)).json.from, taken.json.id);
    for (const [ask, method, path] of [
      [eve, "POST", `/sandboxes/${id}/snapshots`],
      [ada, "POST", `/sandboxes/${theirs}/snapshots`],
      [eve, "DELETE", `/snapshots/${taken.json.id}`],
      [ada, "DELETE", `/snapshots/${other}`],
    ] as const)
      assert.deepEqual((await ask(method, path, { name: null })).json, NOT_THERE, path);
    for (const name of ["", "x".repeat(129), "half \ud800"])
      assert.equal((await ada("POST", `/sandboxes/${id}/snapshots`, { name })).status, 400, JSON.stringify(name));
    assert.deepEqual(await ids(root), [other, taken.json.id]);
    assert.equal((await ada("DELETE", `/snapshots/${taken.json.id.toUpperCase()}`)).status, 204);
    assert.equal((await ada("DELETE", `/snapshots/${taken.json.id}`)).status, 404);
    assert.deepEqual(await ids(root), [other]);
    assert.deepEqual(await detailsOf(club, ada), [
      ["snapshot.delete", { sandbox: id, name: "before the change" }],
      ["sandbox.create", { key: keyIds.mine, from: taken.json.id }],
      ["sandbox.take-snapshot", { name: "before the change" }],
    ]);
    assert.deepEqual(await detailsOf(club, eve), []);
  });

  test("a person changes the times of a sandbox and kills one execution; nobody else can", LIMIT, async (t) => {
    const club = await start(t, open);
    const { ada, eve, keys, create, send } = club;
    const id = await create();
    const start1 = (await send(keys.mine, "POST", `/sandboxes/${id}/executions`, { shell: "wait", background: true }))
      .number;
    const start2 = (await send(keys.mine, "POST", `/sandboxes/${id}/executions`, { shell: "wait", background: true }))
      .number;
    const times = { lifetime_secs: 7_200, idle_secs: 90 };
    const kill = `/sandboxes/${id}/executions/${start1}/kill`;
    assert.deepEqual((await eve("PATCH", `/sandboxes/${id}`, times)).json, NOT_THERE);
    assert.deepEqual((await eve("POST", kill)).json, NOT_THERE);
    const before = (await ada("GET", `/sandboxes/${id}`)).json;
    assert.deepEqual([before.lifetimeSecs, before.executions.executions.length], [3_600, 2]);
    const changed = (await ada("PATCH", `/sandboxes/${id}`, times)).json;
    assert.deepEqual([changed.lifetimeSecs, changed.idleSecs], [7_200, 90]);
    assert.equal(Date.parse(changed.row.expiresAt) - Date.parse(changed.row.startedAt), 7_200_000);
    for (const wrong of [{ lifetime_secs: 0 }, { idle_secs: 1e9 }, { memory_bytes: 1 }])
      assert.equal((await ada("PATCH", `/sandboxes/${id}`, wrong)).status, 400, JSON.stringify(wrong));
    const killed = (await ada("POST", kill)).json;
    assert.notEqual(killed.run, null);
    const { executions } = (await ada("GET", `/sandboxes/${id}`)).json.executions;
    const states = executions.map(({ number, status }: { number: number; status: string }) => [
      number,
      status === "running",
    ]);
    assert.deepEqual(states, [
      [start2, true],
      [start1, false],
    ]);
    assert.equal(
      (await ada("POST", kill)).json.run.row.id,
      killed.run.row.id,
      "an execution that has ended does not change",
    );
    for (const number of ["99", "x", "0x1"])
      assert.equal((await ada("POST", `/sandboxes/${id}/executions/${number}/kill`)).status, 404, number);
    assert.deepEqual(await detailsOf(club, ada), [
      ["sandbox.kill-execution", { execution: String(start1) }],
      ["sandbox.change", { lifetimeSecs: "7200", idleSecs: "90" }],
    ]);
    assert.deepEqual(await detailsOf(club, eve), []);
  });

  test("the list is filtered by metadata, in pages and together with the other filters", LIMIT, async (t) => {
    const { ada, eve, keys, create } = await start(t, open);
    const first = await create(keys.mine, { metadata: { task: "42", user: "a=b&c" } });
    const second = await create(keys.mine, { metadata: { task: "42" } });
    await create(keys.mine, { metadata: { task: "43" } });
    await create(keys.theirs, { metadata: { task: "42" } });
    const find = async (metadata: Record<string, string>, rest = "", ask = ada) => {
      const query = new URLSearchParams({ metadata: new URLSearchParams(metadata).toString() });
      return (await ask("GET", `/sandboxes?${query}${rest}`)).json;
    };
    const ids = ({ sandboxes }: { sandboxes: { id: string }[] }) => sandboxes.map(({ id }) => id);
    assert.deepEqual(ids(await find({ task: "42" })), [second, first]);
    assert.deepEqual(ids(await find({ task: "42", user: "a=b&c" })), [first]);
    assert.deepEqual(ids(await find({ task: "4" })), []);
    assert.deepEqual(ids(await find({ toString: "x" })), []);
    assert.deepEqual(ids(await find({ task: "42" }, "", eve)).length, 1);
    const page = await find({ task: "42" }, "&limit=1");
    assert.deepEqual(ids(page), [second]);
    assert.deepEqual(ids(await find({ task: "42" }, `&limit=1&before=${page.next}`)), [first]);
    await ada("POST", `/sandboxes/${first}/pause`);
    assert.deepEqual(ids(await find({ task: "42" }, "&state=paused")), [first]);
    assert.equal((await ada("GET", `/sandboxes?metadata=${"x".repeat(65)}%3D1`)).status, 400);
  });

  test("every change needs a request of the service's own pages", LIMIT, async (t) => {
    const { running, ada, keyIds, create, send, keys } = await start(t, open);
    const id = await create();
    const snapshot = (await send(keys.mine, "POST", `/sandboxes/${id}/snapshots`)).id;
    const headers = { cookie: ada.person.cookie, "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    for (const [method, path, body] of [
      ["POST", "/sandboxes", { keyId: keyIds.mine }],
      ["PATCH", `/sandboxes/${id}`, { idle_secs: 1 }],
      ["POST", `/sandboxes/${id}/snapshots`, { name: null }],
      ["POST", `/sandboxes/${id}/executions/1/kill`, {}],
      ["DELETE", `/snapshots/${snapshot}`, {}],
    ] as const) {
      const ask = { method, path: `/dashboard/api${path}`, key: null, body };
      assert.equal((await running.ask({ ...ask, headers })).status, 403, path);
      assert.equal((await running.ask({ ...ask, headers: { "sec-fetch-site": "same-origin" } })).status, 401, path);
    }
    assert.equal((await ada("GET", "/sandboxes")).json.sandboxes.length, 1);
    assert.equal((await ada("GET", "/snapshots")).json.snapshots.length, 1);
  });
});
