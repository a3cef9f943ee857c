import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { parseNetworkBound } from "../../../src/domain/egress/bound.ts";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { submissionEgressBody } from "../../../src/http/api/result.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { NO_SANDBOXES } from "../../../src/worker/sandboxes/keeper.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { startHttp } from "../../support/http/running.ts";
import { AC } from "../../support/store/judgements.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { ACTOR } from "../../support/webhooks/project.ts";

const LIMIT = { timeout: 60_000 };
const RULE = { host: "api.example.com", ports: [443] };
const WIDE = { allow: [RULE, { host: "*.example.org", ports: [80, 443] }], bytes_up: 1_000, connections: 8 };
const PROGRAM = { language: "python", code: "print(1)", profile: "agent" };

async function start(t: TestContext, options: Parameters<typeof startHttp>[1] = {}) {
  const running = await startHttp(t, { sandboxesOver: (store) => new MemorySandboxes(store), ...options });
  const { store } = running;
  const key = await running.key({ profiles: ["judge", "agent"] });
  const owner = (await store.keys.list()).find(({ profiles }) => profiles.includes("agent"));
  assert.ok(owner);
  const { accountId } = owner;
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    running.ask({ method: "POST", path, body, headers, key });
  const submit = (more: object, headers = {}) => post("/api/submit", { ...PROGRAM, ...more }, headers);
  const open = (policy: unknown) =>
    store.egress.setBound({ accountId, projectId: null }, parseNetworkBound({ policy }), ACTOR);
  return { ...running, key, accountId, post, submit, open };
}

onEachDatabase((database) => {
  test("a program gets what its request asks for within the bound, and its account can read it", LIMIT, async (t) => {
    const { submit, open, store, ask, key } = await start(t, { open: database });
    await open(WIDE);
    const { status, json } = await submit({ network: { allow: [RULE], bytes_down: 7 } });
    assert.equal(status, 202);
    const [claim] = await store.submissions.claim("w", 1_000, 10, 0, [], true);
    // A budget that the request does not state is at most that of the bound.
    assert.deepEqual(
      claim?.network?.policy,
      parseNetworkPolicy({ allow: [RULE], bytes_up: 1_000, bytes_down: 7, connections: 8 }),
    );
    const read = async (id: string) =>
      submissionEgressBody.parse((await ask({ path: `/api/result/${id}/egress`, key })).json);
    const { network, egress } = await read(json.id);
    assert.deepEqual(network, {
      allow: [RULE],
      bytes_up: 1_000,
      bytes_down: 7,
      connections: 8,
      connections_per_minute: 600,
    });
    assert.equal(egress, null);
    const record = (await ask({ path: `/api/result/${json.id}`, key })).json;
    assert.ok(!JSON.stringify(record).includes("example.com"));
    const plain = (await submit({ network: "none" })).json.id;
    assert.deepEqual(await read(plain), { id: plain, network: "none", egress: null });
    assert.equal((await store.submissions.claim("w", 1_000)).length, 1);
    assert.equal((await ask({ path: `/api/result/${json.id}/egress` })).status, 404, "another account");
    assert.equal((await ask({ path: `/api/result/${randomUUID()}/egress`, key })).status, 404);
  });

  test(
    "a policy beyond the bound is refused, also in a batch; a mistake is refused with its place",
    LIMIT,
    async (t) => {
      const { submit, post, open, store } = await start(t, { open: database });
      const asked = { network: { allow: [RULE] } };
      const unopened = await submit(asked);
      assert.deepEqual([unopened.status, /no network/.test(unopened.json.error)], [403, true]);
      await open(WIDE);
      for (const [network, why] of [
        [{ allow: [{ host: "other.example.com", ports: [443] }] }, /port 443 of other.example.com/],
        [{ allow: [{ host: "api.example.com", ports: [22] }] }, /port 22 of api.example.com/],
        [{ allow: [RULE], bytes_up: 1_001 }, /bytes_up/],
      ] as const) {
        const { status, json } = await submit({ network });
        assert.equal(status, 403);
        assert.match(json.error, why);
      }
      for (const [network, error] of [
        ["all", /^network: must be "none"/],
        [null, /^network: must be "none"/],
        [{ allow: [{ host: "*", ports: [443] }] }, /^network\.allow\[0\]\.host: /],
        [{ allow: [RULE], bytes_up: -1 }, /^network\.bytes_up: /],
      ] as const) {
        const { status, json } = await submit({ network });
        assert.equal(status, 400);
        assert.match(json.error, error);
      }
      const batch = await post("/api/submissions/batch", [
        { ...PROGRAM, ...asked },
        { ...PROGRAM, network: { allow: [{ host: "x.example.com", ports: [1] }] } },
      ]);
      assert.equal(batch.json[0].status, "pending");
      assert.match(batch.json[1].error, /port 1 of x.example.com/);
      assert.equal(await store.submissions.depth(), 1);
    },
  );

  test("what does not go together with a network is refused, and says so", LIMIT, async (t) => {
    const { submit, open, store } = await start(t, { open: database });
    await open(WIDE);
    const network = { allow: [RULE] };
    for (const [more, error] of [
      [{ profile: "judge" }, "network: is only for the profile agent"],
      [{ files: { "a.txt": "x" } }, "network: cannot be combined with files"],
      [{ code: undefined, entry: "a.py", files: { "a.py": "x" } }, "network: cannot be combined with files"],
      [{ stderr_to_stdout: true }, "network: cannot be combined with stderr_to_stdout"],
      [{ live_input: true }, "network: cannot be combined with live_input"],
      [{ runs: 2 }, "network: cannot be combined with runs"],
      [{ language: "plaintext" }, "network: is not possible for plaintext"],
    ] as const) {
      const { status, json } = await submit({ network, ...more });
      assert.deepEqual([status, json.error], [400, error]);
    }
    assert.equal(await store.submissions.depth(), 0);
    const allowed = { files: {}, runs: 1, live_input: false, stderr_to_stdout: false, stream: true, args: ["a"] };
    assert.equal((await submit({ network, ...allowed, env: { A: "b" }, limits: { wall_time_secs: 1 } })).status, 202);
  });

  test("judgements, judge requests, Judge0 and Piston have no network", LIMIT, async (t) => {
    const { post, open, store } = await start(t, { open: database });
    await open(WIDE);
    const network = { allow: [RULE] };
    const tests = [{ stdin: "", expected: "1" }];
    for (const [path, body] of [
      ["/api/judgements", { ...PROGRAM, network, tests: [{ input: "", answers: ["1"] }] }],
      ["/api/judge", { ...PROGRAM, network, cases: tests }],
    ] as const) {
      const { status, json } = await post(path, body);
      assert.deepEqual([status, /network/.test(json.error)], [400, true], json.error);
    }
    // Judge0 has a field of its own for a network. Both ignore fields that they do not know.
    const judge0 = { language_id: 71, source_code: "print(1)", network };
    const refused = await post("/judge0/submissions", { ...judge0, enable_network: true });
    assert.deepEqual([refused.status, refused.json.enable_network], [422, ["enabling network is not allowed"]]);
    const piston = { language: "python", version: "*", files: [{ content: "print(1)" }], network };
    const answers = [post("/judge0/submissions", judge0), post("/piston/api/v2/execute", piston)];
    const claims: Claim[] = [];
    while (claims.length < answers.length) {
      const claimed = await store.submissions.claim("w", 10_000, 10, 0, [], true);
      for (const { lease } of claimed) await store.submissions.finish(lease, AC, null);
      claims.push(...claimed);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all(answers);
    assert.deepEqual(
      claims.map((claim) => claim.network),
      [null, null],
    );
  });

  test(
    "a repeated request gets its submission although the bound has changed; another policy is another request",
    LIMIT,
    async (t) => {
      const { submit, open, store, accountId } = await start(t, { open: database });
      await open(WIDE);
      const headers = { "idempotency-key": randomUUID() };
      const first = await submit({ network: { allow: [RULE] } }, headers);
      assert.equal(first.status, 202);
      await store.egress.clearBound({ accountId, projectId: null }, ACTOR);
      const again = await submit({ network: { allow: [RULE] } }, headers);
      assert.deepEqual([again.status, again.json.id], [202, first.json.id]);
      assert.equal((await submit({ network: { allow: [RULE], bytes_up: 1 } }, headers)).status, 422);
      assert.equal((await submit({}, headers)).status, 422);
    },
  );
});

test("where no machine gives programs a network, a request for one is refused", LIMIT, async (t) => {
  for (const sandboxesOver of [
    () => NO_SANDBOXES,
    (store: Store) => {
      const sandboxes = new MemorySandboxes(store);
      Object.assign(sandboxes, { capacity: { ...sandboxes.capacity, network: false } });
      return sandboxes;
    },
  ]) {
    const { submit, open } = await start(t, { sandboxesOver });
    await open(WIDE);
    const { status, json } = await submit({ network: { allow: [RULE] } });
    assert.equal(status, 400);
    assert.match(json.error, /ASSAY_EGRESS/);
  }
});
