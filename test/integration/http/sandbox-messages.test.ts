import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

/* A row of docs/security.md#sandboxes: the end of an execution in the background is a message for each endpoint of the project. */

onEachDatabase((open) => {
  test("executions in the background count against the rate limit of the key, and others do not", async (t) => {
    const { ask, key } = await startHttp(t, { open, sandboxesOver: (store) => new MemorySandboxes(store) });
    const most = 5;
    const agent = await key({ profiles: ["agent"], requestsPerMinute: most });
    const send = (body: object, path: string) => ask({ key: agent, method: "POST", path, body });
    const path = `/api/sandboxes/${(await send({}, "/api/sandboxes")).json.id}/executions`;
    for (let n = 0; n < 2 * most; n++) assert.equal((await send({ shell: "echo a" }, path)).status, 200);
    const statuses = [];
    let last: Awaited<ReturnType<typeof send>> | undefined;
    for (let n = 0; n < most + 1; n++) {
      last = await send({ shell: "echo a", background: true }, path);
      statuses.push(last.status);
    }
    // The creation of the sandbox counts as well.
    assert.deepEqual(statuses, [...Array(most - 1).fill(201), 429, 429]);
    assert.ok(Number(last?.headers["retry-after"]) > 0);
    assert.equal((await send({ shell: "echo a" }, path)).status, 200);
  });
});
