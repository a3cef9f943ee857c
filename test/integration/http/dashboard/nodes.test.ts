import assert from "node:assert/strict";
import { test } from "node:test";
import { meaningOf } from "../../../../src/domain/remedies.ts";
import { BROKEN, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { enqueue, onEachDatabase, START_MS } from "../../../support/store/temporary.ts";

onEachDatabase((open) => {
  test("each node has its capabilities and newest self-test; members see the runs of their own accounts", async (t) => {
    const { running, root, ada, eve, projectId, accountId } = await startTwoTenants(t, { open });
    const { key } = (await ada("POST", "/keys", { name: "k", projectId })).json;
    for (let at = 0; at < 2; at++) await enqueue(running.store, { keyId: key.id, accountId });
    await running.store.submissions.claim("node 1", 60_000, 2);
    const node = {
      id: "node 1",
      slots: 3,
      languages: ["python", "c"],
      ready: true,
      cgroupBackend: "cgroup_v2",
      checks: [{ name: "seccomp", ok: true, detail: "filter active" }],
      provenAt: new Date(START_MS).toISOString(),
      running: 2,
    };
    running.engine.languages = [...node.languages, "multifile"]; // which lists of languages leave out
    assert.deepEqual((await root("GET", "/nodes")).json, [node]);
    assert.deepEqual((await ada("GET", "/nodes")).json, [node]);
    assert.deepEqual((await eve("GET", "/nodes")).json, [{ ...node, running: 0 }]);
    running.engine.ready = BROKEN;
    const [broken] = (await eve("GET", "/nodes")).json;
    assert.deepEqual([broken.ready, broken.provenAt], [false, null]);
    assert.equal(broken.checks[0].means, meaningOf("sandbox")?.means);
  });
});
