import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FROM_OWN_PAGE } from "../../../support/http/dashboard/signed-in.ts";
import { type Asker, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

/** Each route with its text parameters; `?` stands for a hostile text, percent-encoded in a path or query. */
const ROUTES: readonly (readonly [string, string, unknown?])[] = [
  ["POST", "/session", { email: "?", password: "p" }],
  ["POST", "/session", { email: "a@example.com", password: "?" }],
  ["POST", "/invitations/look", { token: "?" }],
  ["POST", "/invitations/accept", { token: "t", email: "?", name: "n", password: "p" }],
  ["PATCH", "/me", { name: "?" }],
  ["PATCH", "/me", { password: { current: "?", next: "n" } }],
  ["GET", "/members?account=?"],
  ["POST", "/members/invitations", { email: "?", accountId: "?", administrator: false }],
  ["DELETE", "/members/invitations/?", {}],
  ["POST", "/members/?/reset", {}],
  ["PATCH", "/members/?", { disabled: false }],
  ["PATCH", "/members/x", { accountIds: ["?"] }],
  ["GET", "/overview?window=1h&account=?"],
  ["GET", "/overview/now?account=?"],
  ["GET", "/overview?window=?"],
  ["GET", "/overview?from=?&to=1"],
  ["GET", "/overview?by=?"],
  ["GET", "/use?key=?"],
  ["GET", "/use?project=?"],
  ["GET", "/use?endpoint=?"],
  ["GET", "/first-steps?account=?"],
  ["GET", "/keys/?"],
  ["POST", "/projects", { name: "?", accountId: "?" }],
  ["PATCH", "/projects/?", { name: "?" }],
  ["GET", "/keys?project=?"],
  ["POST", "/keys", { name: "?", projectId: "?" }],
  ["PATCH", "/keys/?", { concurrency: 1 }],
  ["POST", "/keys/?/rotate", { overlapMs: 0 }],
  ["POST", "/keys/?/revoke", {}],
  ["GET", "/endpoints?project=?"],
  ["POST", "/endpoints", { projectId: "?", url: "?" }],
  ["PATCH", "/endpoints/?", { active: true }],
  ["POST", "/endpoints/?/rotate-secret", { overlapMs: 0 }],
  ["DELETE", "/endpoints/?", {}],
  ["POST", "/endpoints/?/test", {}],
  ["POST", "/endpoints/?/replay-failed", {}],
  ["GET", "/deliveries?endpoint=?"],
  ["GET", "/deliveries?submission=?"],
  ["GET", "/deliveries/?/body"],
  ["POST", "/deliveries/?/replay", {}],
  ["GET", "/sandboxes/?/samples"],
  ["GET", "/sandboxes?metadata=?"],
  ["POST", "/sandboxes", { keyId: "?" }],
  ["POST", "/sandboxes", { keyId: "x", metadata: { task: "?" } }],
  ["PATCH", "/sandboxes/?", { idle_secs: 1 }],
  ["PATCH", "/sandboxes/x", { metadata: { task: "?" } }],
  ["POST", "/sandboxes/?/executions/1/kill", {}],
  ["GET", "/snapshots?account=?"],
  ["GET", "/snapshots?project=?"],
  ["POST", "/sandboxes/?/snapshots", { name: null }],
  ["POST", "/sandboxes/x/snapshots", { name: "?" }],
  ["DELETE", "/snapshots/?", {}],
  ["GET", "/keys?profile=?"],
  ["POST", "/sandboxes/?/terminals", { rows: 24, cols: 80 }],
  ["GET", "/sandboxes/?/executions/1/attach"],
  ["GET", "/sandboxes/x/files?path=?"],
  ["GET", "/sandboxes/x/files?path=/&after=?"],
  ["GET", "/sandboxes/x/files/text?path=?"],
  ["GET", "/sandboxes/x/files/content?path=?"],
  ["POST", "/sandboxes/x/files/directories", { path: "?" }],
  ["POST", "/sandboxes/x/files/move", { path: "?", to: "x" }],
  ["POST", "/sandboxes/x/files/move", { path: "x", to: "?" }],
  ["POST", "/sandboxes/x/files/remove", { path: "?", recursive: true }],
  ["GET", "/submissions?language=?"],
  ["GET", "/submissions?key=?&project=?"],
  ["GET", "/submissions?account=?"],
  ["GET", "/submissions?id=?"],
  ["GET", "/submissions/?"],
  ["GET", "/submissions/?/record"],
  ["GET", "/submissions/?/live"],
  ["GET", "/submissions/?/deliveries"],
  ["GET", "/submissions/?/files/stdout"],
  ["GET", "/submissions/x/files/?"],
  ["GET", "/submissions/x/file?path=?"],
  ["GET", "/submissions/total?key=?"],
  ["GET", "/submissions/live?key=?"],
  ["GET", "/submissions/csv?key=?"],
  ["POST", "/submissions/?/cancel", {}],
  ["GET", "/judgements/total?key=?"],
  ["GET", "/judgements/live?key=?"],
  ["POST", "/submissions", { accountId: "?", language: "python", code: "c", stdin: "", profile: "judge" }],
  ["POST", "/submissions/?/again", {}],
  ["GET", "/judgements?language=?"],
  ["GET", "/judgements?key=?&project=?"],
  ["GET", "/judgements?account=?"],
  ["GET", "/judgements?id=?"],
  ["GET", "/judgements?problem=?"],
  ["GET", "/judgements/?"],
  ["GET", "/judgements/?/tests/0"],
  ["GET", "/judgements/?/live"],
  ["POST", "/judgements", { accountId: "?", language: "python", code: "c", tests: [{ expected: "" }] }],
  ["POST", "/judgements/?/cancel", {}],
  ["POST", "/judgements/?/rejudge", {}],
  ["POST", "/judgements/?/compare", { path: "p", expectations: [] }],
  ["GET", "/audit?account=?"],
  ["GET", "/audit?actor=?"],
  ["GET", "/audit?subject=?"],
  ["GET", "/keys?name=?"],
  ["PUT", "/tiers/?", { requestsPerMinute: 1, concurrency: 1 }],
  ["POST", "/accounts", { name: "?", tier: "?" }],
  ["PATCH", "/accounts/?", { name: "?" }],
];

onEachDatabase((open) => {
  test("rejects text that a database cannot store on every route, never with an internal error", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada } = club;
    const texts = fc.sample(hostile(), { numRuns: 6, seed: 20_260_101 });
    for (const [method, path, body] of ROUTES) {
      const inBody = body !== undefined && JSON.stringify(body).includes('"?"');
      for (const text of ["\0", "a\0b", ...(inBody ? ["\ud800", "a\udfff", ...texts] : [])]) {
        const target = path.replaceAll(/(?<=[/=])\?/g, encodeURIComponent(text.toWellFormed()));
        const sent =
          body === undefined ? undefined : JSON.parse(JSON.stringify(body).replaceAll('"?"', JSON.stringify(text)));
        for (const ask of [root, ada]) {
          const { status, text: said } = await ask(method as Parameters<Asker>[0], target, sent);
          // Members get 403 first on routes for administrators.
          assert.ok(status === 400 || (ask === ada && status === 403), `${method} ${target}: ${status} ${said}`);
        }
      }
    }
    const stranger = { method: "POST", path: "/dashboard/api/session", key: null, headers: FROM_OWN_PAGE };
    assert.equal((await running.ask({ ...stranger, body: { email: "a\0@example.com", password: "p" } })).status, 400);
    assert.deepEqual(
      running.logs.filter((line) => /"level":[56]0/.test(line)),
      [],
    );
  });

  test("rejects nesting deeper than the stack, and accepts any Unicode text in a program", async (t) => {
    const { ada, accountId } = await startTwoTenants(t, { open });
    const nested = `{"token":${"[".repeat(5_000)}"\\u0000"${"]".repeat(5_000)}}`;
    assert.equal((await ada("POST", "/invitations/look", nested)).status, 400);
    const body = { accountId, language: "python", code: "a\0b", stdin: "\0", profile: "judge" };
    assert.equal((await ada("POST", "/submissions", body)).status, 202);
    assert.equal((await ada("POST", "/submissions", { ...body, code: "\ud800" })).status, 400);
  });
});

/** Any Unicode text around an unstorable part. */
function hostile() {
  const around = fc.string({ unit: "grapheme", maxLength: 5 });
  return fc.tuple(around, fc.constantFrom("\0", "\ud83d", "\udc00x"), around).map((parts) => parts.join(""));
}
