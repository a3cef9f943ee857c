import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { test } from "node:test";
import {
  type Asker,
  NOT_THERE,
  startTwoTenants,
  type TwoTenants,
} from "../../../support/http/dashboard/two-tenants.ts";
import type { Reply } from "../../../support/http/running.ts";
import { type OpenTemporary, onEachDatabase } from "../../../support/store/temporary.ts";
import { addEndpoint, endOne, type Project } from "../../../support/webhooks/project.ts";

/** The accounts of club.ts, with a key and an endpoint in the project. */
async function sending(
  t: TestContext,
  open: OpenTemporary,
): Promise<TwoTenants & { project: Project; endpointId: string }> {
  const club = await startTwoTenants(t, { open });
  const { ada, projectId, accountId, running } = club;
  const { key } = (await ada("POST", "/keys", { name: "k", projectId })).json;
  const project = { id: projectId, key: { keyId: key.id, accountId } };
  const { id } = await addEndpoint(running.store, project);
  return { ...club, project, endpointId: id };
}

/** Ids of all deliveries, page by page, and the length of each page. */
async function throughAll(ask: Asker, which: string, from = "") {
  const ids: string[] = [];
  const parts: number[] = [];
  for (let next: string | null = from; next !== null; ) {
    const { status, json }: Reply = await ask("GET", `/deliveries?${which}${next && `&before=${next}`}`);
    assert.equal(status, 200);
    ids.push(...json.deliveries.map(({ id }: { id: string }) => id));
    parts.push(json.deliveries.length);
    next = json.next;
  }
  return { ids, parts };
}

onEachDatabase((open) => {
  test("pages of the log have every delivery once, newest first, despite concurrent changes", async (t) => {
    const { running, ada, project, endpointId } = await sending(t, open);
    const { store } = running;
    await endOne(store, project);
    const [first] = await store.deliveries.list({ max: 1 });
    await Promise.all(Array.from({ length: 119 }, () => store.deliveries.replay(first?.id ?? "", "test")));
    await endOne(store, project);
    const all = (await store.deliveries.list({ max: 1_000 })).map(({ id }) => id);
    assert.deepEqual(await throughAll(ada, `endpoint=${endpointId}`), { ids: all, parts: [50, 50, 21] });
    const { deliveries, next } = (await ada("GET", `/deliveries?endpoint=${endpointId}`)).json;
    await endOne(store, project);
    assert.equal(deliveries.at(-1).id, all[49]);
    assert.deepEqual((await throughAll(ada, `endpoint=${endpointId}`, next)).ids, all.slice(50));
    assert.equal(await store.retention.erase(project.key.accountId, running.clock.nowMs, 10), 3);
    assert.deepEqual((await throughAll(ada, `endpoint=${endpointId}`, next)).ids, []);
  });

  test("a replay creates a new delivery, and only to an active endpoint", async (t) => {
    const { running, root, ada, eve, project, endpointId } = await sending(t, open);
    const submissionId = await endOne(running.store, project);
    const [first] = (await ada("GET", `/deliveries?submission=${submissionId}`)).json.deliveries;
    const replayed = await ada("POST", `/deliveries/${first.id}/replay`);
    assert.equal(replayed.status, 200);
    assert.deepEqual(replayed.json, { ...first, id: replayed.json.id, kind: "replay" });
    assert.notEqual(replayed.json.id, first.id);
    assert.deepEqual((await throughAll(root, `submission=${submissionId}`)).ids, [replayed.json.id, first.id]);
    for (const id of [first.id, "nobody", "a%0ab"]) {
      const { status, json } = await eve("POST", `/deliveries/${id}/replay`);
      assert.deepEqual([status, json], [404, NOT_THERE]);
    }
    await ada("PATCH", `/endpoints/${endpointId}`, { active: false });
    const off = { error: "its endpoint is disabled or was removed" };
    assert.deepEqual((await ada("POST", `/deliveries/${first.id}/replay`)).json, off);
    await ada("DELETE", `/endpoints/${endpointId}`);
    assert.deepEqual((await ada("POST", `/deliveries/${first.id}/replay`)).json, off);
    // Deliveries stay on record, visible only to their account.
    assert.equal((await throughAll(ada, `endpoint=${endpointId}`)).ids.length, 2);
    for (const which of [`endpoint=${endpointId}`, `submission=${submissionId}`, "endpoint=nobody"]) {
      assert.deepEqual((await eve("GET", `/deliveries?${which}`)).json, { deliveries: [], next: null });
    }
  });
});

test("the log is queried by endpoint or submission, and from the end of a page", async (t) => {
  const { ada } = await startTwoTenants(t);
  for (const [query, error] of [
    ["", /endpoint or submission/],
    ["?endpoint=a&submission=b", /endpoint or submission/],
    ["?endpoint=a&before=x", /^before: is not a value of next$/],
    ["?endpoint=a%01", /^endpoint: is not an id$/],
    ["?endpoint=a&limit=7", /./],
  ] as const) {
    const { status, json } = await ada("GET", `/deliveries${query}`);
    assert.equal(status, 400, query);
    assert.match(json.error, error, query);
  }
});
