import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../src/store/store.ts";
import { onEachDatabase, START_MS } from "../../support/store/temporary.ts";

const SEALED = Buffer.from([0, 1, 2, 255]);

async function projectOf(store: Store): Promise<string> {
  const { id } = await store.accounts.ensure("one", "beta", "x");
  return (await store.projects.create(id, "p", "x")) ?? "";
}

function add(store: Store, projectId: string, id = "e", most = 10) {
  const url = `https://example.com/${id}?token=t0ken`;
  return store.endpoints.add({ id, projectId, url, seal: () => SEALED, signing: "standard" }, most, "x");
}

onEachDatabase((temporaryStore) => {
  test("a new endpoint is active, and its sealed secret is returned unchanged", async (t) => {
    const { store } = await temporaryStore(t);
    const projectId = await projectOf(store);
    assert.equal(await add(store, projectId), "added");
    const url = "https://example.com/e?token=t0ken";
    const expected = {
      id: "e",
      projectId,
      url,
      secret: SEALED,
      signing: "standard",
      active: true,
      createdAtMs: START_MS,
      failingSinceMs: null,
    };
    assert.deepEqual(await store.endpoints.get("e"), expected);
    assert.deepEqual(await store.endpoints.list({ projectId }), [expected]);
    assert.deepEqual(await store.endpoints.list({ projectId: "another" }), []);
    assert.equal(await store.endpoints.get("f"), undefined);
  });

  test("concurrent requests never exceed a project's maximum of endpoints", async (t) => {
    const { store } = await temporaryStore(t);
    const projectId = await projectOf(store);
    const results = await Promise.all(["a", "b", "c", "d", "e"].map((id) => add(store, projectId, id, 3)));
    assert.deepEqual(results.toSorted(), ["added", "added", "added", "full", "full"]);
    const [first] = await store.endpoints.list({ projectId });
    await store.endpoints.remove(first?.id ?? "", "x");
    assert.equal(await add(store, projectId, "f", 3), "added", "a removed endpoint does not count");
  });

  test("archived and unknown projects accept no endpoints", async (t) => {
    const { store } = await temporaryStore(t);
    const projectId = await projectOf(store);
    await store.projects.archive(projectId, "x");
    assert.deepEqual([await add(store, projectId), await add(store, "nobody")], ["no-project", "no-project"]);
    assert.deepEqual(await store.endpoints.list(), []);
  });

  test("each change has one audit entry, without secrets", async (t) => {
    const { store } = await temporaryStore(t);
    const projectId = await projectOf(store);
    await add(store, projectId);
    for (let twice = 0; twice < 2; twice++) {
      assert.equal(await store.endpoints.setActive("e", false, "x"), true);
    }
    await store.endpoints.setActive("e", true, "x");
    await store.endpoints.setSigning("e", "raw", "x");
    await store.endpoints.setSecret("e", () => Buffer.from("other"), { overlapMs: 0, mostFormer: 1 }, "y");
    const now = await store.endpoints.get("e");
    assert.deepEqual([now?.active, now?.signing, now?.secret.toString()], [true, "raw", "other"]);
    const entries = (await store.audit.list({ max: 100 })).filter(({ action }) => action.startsWith("endpoint."));
    assert.deepEqual(
      entries.map(({ action }) => action),
      ["endpoint.rotate-secret", "endpoint.set-signing", "endpoint.enable", "endpoint.disable", "endpoint.create"],
    );
    assert.deepEqual([entries[0]?.actor, entries[0]?.subject, entries[0]?.accountName], ["y", "e", "one"]);
    assert.deepEqual(entries[1]?.detail, { projectId, origin: "https://example.com", signing: "raw" });
    for (const secret of ["t0ken", "other", SEALED.toString("base64"), "secret"]) {
      assert.equal(JSON.stringify(entries.map(({ detail }) => detail)).includes(secret), false, secret);
    }
  });

  test("a removed endpoint can neither be read nor changed", async (t) => {
    const { store } = await temporaryStore(t);
    const projectId = await projectOf(store);
    await add(store, projectId);
    assert.equal(await store.endpoints.remove("e", "x"), true);
    assert.equal(await store.endpoints.remove("e", "x"), false);
    assert.equal(await store.endpoints.setActive("e", true, "x"), false);
    assert.equal(await store.endpoints.setSigning("e", "raw", "x"), false);
    assert.equal(await store.endpoints.setSecret("e", () => SEALED, { overlapMs: 0, mostFormer: 1 }, "x"), undefined);
    assert.deepEqual([await store.endpoints.get("e"), await store.endpoints.list()], [undefined, []]);
  });
});
