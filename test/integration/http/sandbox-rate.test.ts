import assert from "node:assert/strict";
import { test } from "node:test";
import { BURST_SECS, SANDBOX_RATES } from "../../../src/http/access/sandbox-rate.ts";
import { ROUTES } from "../../../src/http/api/routes.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { type Reply, startHttp } from "../../support/http/running.ts";

// On SQLite only: the requests to sandboxes are counted in the memory of the process. Those that count against the rate limit of the key are in sandboxes.test.ts.

const LIMIT = { timeout: 120_000 };
/** Requests at the same time. The limit refills while they are sent, so that one after the other might never reach it on a slow machine. */
const AT_ONCE = 40;

test(
  "requests to a sandbox beyond the rate of the account get 429, and those of another account do not",
  LIMIT,
  async (t) => {
    const { ask, key, store } = await startHttp(t, {
      transport: { kind: "loopback" },
      sandboxesOver: (store) => new MemorySandboxes(store),
    });
    const tier = "one execution";
    await store.tiers.set({ name: tier, requestsPerMinute: 60, concurrency: 10, executions: 1 }, "test");
    const owners = [];
    for (const account of ["one", "two"]) {
      await store.accounts.ensure(account, tier, "test");
      const own = await key({ profiles: ["agent"], account, requestsPerMinute: 3 });
      const { json } = await ask({ method: "POST", path: "/api/sandboxes", key: own, body: {} });
      owners.push({ own, path: `/api/sandboxes/${json.id}` });
    }
    const [one, two] = owners;
    assert.ok(one && two);
    /** Sends requests until one is refused. @returns how many were not. */
    const untilRefused = async (method: string, path: string) => {
      for (let passed = 0; ; ) {
        const replies: Reply[] = await Promise.all(
          Array.from({ length: AT_ONCE }, () => ask({ method, path, key: one.own })),
        );
        const refused = replies.filter(({ status }) => status !== 200);
        passed += replies.length - refused.length;
        for (const { status, json, headers } of refused)
          assert.deepEqual([status, json, headers["retry-after"]], [429, { error: "API key quota exceeded" }, "1"]);
        if (refused.length > 0) return passed;
      }
    };
    const writes = await untilRefused("POST", `${one.path}/resume`);
    assert.ok(writes >= BURST_SECS * SANDBOX_RATES.costly, `${writes} requests that write`);
    // Those that only read may be more.
    assert.equal((await ask({ path: one.path, key: one.own })).status, 200);
    const reads = await untilRefused("GET", `${one.path}/metrics`);
    assert.ok(writes + reads >= BURST_SECS * SANDBOX_RATES.all, `${writes} and ${reads} requests`);
    assert.equal((await ask({ path: two.path, key: two.own })).status, 200);
    // None of them counted against the rate limit of the key, of which the sandbox took one.
    const listed = await ask({ path: "/api/sandboxes", key: one.own });
    assert.deepEqual([listed.status, listed.headers["ratelimit-remaining"]], [200, "1"]);
  },
);

test("exactly the routes of one sandbox have its rate, and reading is cheap except for lists of executions", () => {
  for (const { id, method, path, config } of ROUTES) {
    const expected = path.startsWith("/api/sandboxes/{id}") ? (id === "executions" ? "costly" : true) : undefined;
    assert.equal(config?.ofSandbox, expected, `${method} ${path}`);
  }
});
