import assert from "node:assert/strict";
import { test } from "node:test";
import { listAudit } from "../../../src/admin/audit.ts";
import { AdminError } from "../../../src/admin/error.ts";
import { createKey } from "../../../src/admin/keys.ts";
import { onEachDatabase, START_MS } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("the audit trail has time, actor, action, account, and old and new values", async (t) => {
    const { store } = await temporaryStore(t);
    const { id, prefix } = await createKey(store, { name: "one", profiles: ["judge"] }, "alice");
    await createKey(store, { name: "two", profiles: ["judge"] }, "bob");
    const [newest, ...older] = await listAudit(store, { max: 10, account: "one" });
    const limits = { requestsPerMinute: null, concurrency: null, profiles: ["judge"], defaultProfile: "judge" };
    assert.deepEqual(newest, {
      at: new Date(START_MS).toISOString(),
      actor: "alice",
      action: "key.create",
      subject: id,
      account: "one",
      detail: { name: "one", prefix, projectId: null, ...limits },
      address: null,
    });
    assert.deepEqual(
      older.map(({ action }) => action),
      ["account.create"],
    );
    assert.deepEqual(
      (await listAudit(store, { max: 1 })).map(({ actor }) => actor),
      ["bob"],
    );
  });

  test("rejects an unknown account and a number out of range", async (t) => {
    const { store } = await temporaryStore(t);
    await assert.rejects(listAudit(store, { max: 1, account: "nobody" }), /there is no account nobody/);
    for (const max of [0, 10_001]) await assert.rejects(listAudit(store, { max }), AdminError);
  });
});
