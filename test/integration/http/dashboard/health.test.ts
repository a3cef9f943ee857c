import assert from "node:assert/strict";
import { test } from "node:test";
import { MEANINGS, meaningOf } from "../../../../src/domain/remedies.ts";
import { BROKEN, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";

test("explains failed checks with their remedies; only administrators see host paths", async (t) => {
  const { running, root, ada } = await startTwoTenants(t);
  const { ready, cgroupBackend, checks, database } = (await ada("GET", "/health")).json;
  assert.deepEqual([ready, cgroupBackend], [true, "cgroup_v2"]);
  assert.deepEqual(checks, [{ name: "seccomp", ok: true, detail: "filter active" }]);
  assert.equal(database.kind, "SQLite");
  assert.ok(database.latencyMs >= 0 && database.latencyMs < 10_000);
  running.engine.ready = BROKEN;
  const broken = (await ada("GET", "/health")).json;
  const { means, remedy } = meaningOf("sandbox") ?? {};
  assert.equal(broken.ready, false);
  assert.deepEqual(broken.checks, [
    { name: "sandbox", ok: false, detail: "its smoke test ended as IE", means, remedy },
    { name: "file_size_evidence", ok: true, detail: "kernel tracepoint" },
    {
      name: "rust",
      ok: false,
      detail: "its smoke test ended as RE",
      means: MEANINGS.language?.means,
      remedy: MEANINGS.language?.remedy,
    },
  ]);
  assert.equal((await root("GET", "/health")).json.checks[0].detail, "cannot open /var/lib/assay");
});
