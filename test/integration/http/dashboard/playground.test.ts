import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { archiveProject, createProject } from "../../../../src/admin/projects.ts";
import { playgroundKeyId } from "../../../../src/domain/key.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { type Options, runPending, startHttp } from "../../../support/http/running.ts";
import { type OpenTemporary, onEachDatabase } from "../../../support/store/temporary.ts";

const SUBMISSIONS_PATH = "/dashboard/api/submissions";

/** A service with the account "club" and its member Bob. `run` submits a program of Bob's playground. */
async function startPlayground(t: TestContext, open?: OpenTemporary, options: Options = {}) {
  const running = await startHttp(t, { ...(open && { open }), ...options });
  const { id: accountId } = await running.store.accounts.ensure("club", "beta", "test");
  const bob = await signedIn(running, "bob@example.com", [accountId]);
  const run = (changes: object = {}) => {
    const body = { accountId, language: "py", code: "print(1)", stdin: "in", profile: "judge", ...changes };
    return bob.ask({ method: "POST", path: SUBMISSIONS_PATH, body });
  };
  return { ...running, accountId, bob, run };
}

onEachDatabase((open) => {
  test("a program of the playground is queued like any other, with a key of its account that no client has", async (t) => {
    const { store, run, accountId, bob } = await startPlayground(t, open);
    // The first runs of an account can arrive at the same time.
    const replies = await Promise.all([run(), run(), run()]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [202, 202, 202],
    );
    const { submission, program, found } =
      (await store.submissionSearch.read(replies[0]?.json.id, null)) ?? assert.fail();
    assert.deepEqual(
      [
        submission.language,
        submission.profile,
        submission.accountId,
        submission.projectId,
        `${program.code}`,
        `${program.stdin}`,
      ],
      ["python", "judge", accountId, null, "print(1)", "in"],
    );
    assert.deepEqual(found.key, { id: playgroundKeyId(accountId), name: "playground" });
    const keys = (await store.keys.list()).filter((key) => key.accountId === accountId);
    assert.deepEqual(
      keys.map(({ id, requestsPerMinute, isLive }) => [id, requestsPerMinute, isLive]),
      [[playgroundKeyId(accountId), null, true]],
    );
    const created = (await store.audit.list({ max: 50, accountIds: [accountId] })).filter(
      ({ action }) => action === "key.create",
    );
    assert.deepEqual(
      created.map(({ actor, subject }) => [actor, subject]),
      [[bob.email, playgroundKeyId(accountId)]],
    );
    assert.equal(await runPending(store), 3);
  });

  test("repeats any program of the account unchanged, with the playground key", async (t) => {
    const { store, run, bob, submit, key, accountId } = await startPlayground(t, open);
    const program = { language: "c", code: "é", stdin: "\u0000" };
    const originalId = (await submit(program, { key: await key({ account: "club" }) })).json.id;
    await runPending(store);
    const { status, json } = await bob.ask({ method: "POST", path: `${SUBMISSIONS_PATH}/${originalId}/again` });
    assert.equal(status, 202);
    assert.notEqual(json.id, originalId);
    const repeated = (await store.submissionSearch.read(json.id, null)) ?? assert.fail();
    assert.deepEqual(
      [
        repeated.submission.language,
        repeated.submission.profile,
        `${repeated.program.code}`,
        `${repeated.program.stdin}`,
        repeated.found.key.id,
      ],
      ["c", "judge", "é", "\u0000", playgroundKeyId(accountId)],
    );
    assert.equal((await run()).status, 202);
  });

  test("a repeated run keeps the project while it is open, and names its original while that exists", async (t) => {
    const { store, bob, submit, key, accountId } = await startPlayground(t, open);
    const project = await createProject(store, { name: "shop", accountId }, "test");
    const projectKey = await key({ project: "shop", account: "club" });
    const original = (await submit(undefined, { key: projectKey })).json.id;
    const repeatRun = async () => {
      const { json } = await bob.ask({ method: "POST", path: `${SUBMISSIONS_PATH}/${original}/again` });
      return (await bob.ask({ path: `${SUBMISSIONS_PATH}/${json.id}` })).json;
    };
    const { row, originalId } = await repeatRun();
    assert.deepEqual(
      [row.project, row.key.name, originalId],
      [{ id: project.id, name: "shop" }, "playground", original],
    );
    await store.keys.revoke(
      (await store.keys.list()).find(({ projectId }) => projectId === project.id)?.id ?? "",
      "test",
    );
    await archiveProject(store, project.id, "test");
    const late = await repeatRun();
    assert.deepEqual([late.row.project, late.originalId], [null, original]);
    await runPending(store);
    await store.retention.purge(Number.MAX_SAFE_INTEGER, 1);
    assert.equal((await bob.ask({ path: `${SUBMISSIONS_PATH}/${late.row.id}` })).json.originalId, null);
  });

  test("stops a run of the account, once, with an entry in the audit trail", async (t) => {
    const { store, bob, run, accountId, ask } = await startPlayground(t, open);
    const { id } = (await run()).json;
    const eve = await signedIn({ store, ask }, "eve@example.com", []);
    const cancel = (who: typeof bob) => who.ask({ method: "POST", path: `${SUBMISSIONS_PATH}/${id}/cancel` });
    await store.submissions.claim("w", 60_000);
    assert.equal((await cancel(eve)).status, 404);
    assert.deepEqual((await cancel(bob)).json, { cancelled: true });
    assert.deepEqual((await cancel(bob)).json, { cancelled: false });
    const { row, live } = (await bob.ask({ path: `${SUBMISSIONS_PATH}/${id}` })).json;
    assert.deepEqual([row.status, row.verdict, row.cause, live], ["error", "IE", "cancelled", true]);
    const [entry] = await store.audit.list({ max: 1, accountIds: [accountId] });
    assert.deepEqual([entry?.actor, entry?.action, entry?.subject], [bob.email, "submission.cancel", id]);
  });
});

test("applies the same checks to a program as for every client, with the same errors", async (t) => {
  const { run, engine } = await startPlayground(t);
  for (const [changes, status, error] of [
    [{ code: "" }, 400, /code must not be empty/],
    [{ code: "x".repeat(65_537) }, 400, /at most 65536 bytes/],
    [{ stdin: "x".repeat(262_145) }, 400, /at most 262144 bytes/],
    [{ language: "cobol" }, 400, /unsupported language: "cobol"/],
    [{ profile: "root" }, 400, /profile must be judge or agent/],
    [{ webhook: "x" }, 400, /configured on the project/],
    [{ accountId: undefined }, 400, /accountId/],
    [{ accountId: "nobody's" }, 404, /you have no access/],
  ] as const) {
    const reply = await run(changes);
    assert.equal(reply.status, status, JSON.stringify(changes).slice(0, 60));
    assert.match(reply.json.error, error);
  }
  engine.languages = [];
  const unproven = await run();
  assert.deepEqual([unproven.status, unproven.headers["retry-after"]], [503, "2"]);
});

test("an administrator can use the playground of every account that exists", async (t) => {
  const running = await startPlayground(t);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const body = { accountId: "unknown", language: "c", code: "x", stdin: "", profile: "judge" };
  assert.equal((await ada.ask({ method: "POST", path: SUBMISSIONS_PATH, body })).status, 404);
  assert.equal(
    (await ada.ask({ method: "POST", path: SUBMISSIONS_PATH, body: { ...body, accountId: running.accountId } })).status,
    202,
  );
});

test("an administrator grants the playground the agent profile, as for any key", async (t) => {
  const { run, accountId, ...running } = await startPlayground(t);
  assert.equal((await run()).status, 202);
  const forbidden = await run({ profile: "agent" });
  assert.deepEqual([forbidden.status, forbidden.json.error], [403, "this API key may not use the profile agent"]);
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const given = { profiles: ["judge", "agent"], defaultProfile: "judge" };
  const path = `/dashboard/api/keys/${playgroundKeyId(accountId)}`;
  assert.equal((await ada.ask({ method: "PATCH", path, body: given })).status, 200);
  assert.equal((await run({ profile: "agent" })).status, 202);
});

test("the playground has a quota and a queue limit, and closes when its key is revoked", async (t) => {
  const { run, store, accountId } = await startPlayground(t, undefined, { maxPending: 4 });
  assert.deepEqual([(await run()).status, (await run()).status], [202, 202]);
  const full = await run();
  assert.deepEqual([full.status, full.json.error], [503, "queue full, try again later"]);
  await runPending(store);
  const limits = { concurrency: null, profiles: ["judge"], defaultProfile: "judge" } as const;
  await store.keys.update(playgroundKeyId(accountId), { ...limits, requestsPerMinute: 3 }, "test");
  const over = await run();
  assert.deepEqual([over.status, over.json.error, over.headers["retry-after"]], [429, "API key quota exceeded", "60"]);
  await store.keys.revoke(playgroundKeyId(accountId), "test");
  const closed = await run();
  assert.deepEqual(
    [closed.status, closed.json.error],
    [403, "the playground of this account is closed: its key was revoked"],
  );
});
