import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { LivePiece } from "../../../../src/store/live/types.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { Raw } from "../../../support/http/raw.ts";
import { type Options, startHttp } from "../../../support/http/running.ts";
import { stopwatch } from "../../../support/stopwatch.ts";
import { type OpenTemporary, onEachDatabase, temporaryStore } from "../../../support/store/temporary.ts";
import { DONE } from "../../../support/webhooks/project.ts";
import { watch } from "./watching.ts";

const SUBMISSIONS = "/dashboard/api/submissions";
const piece = (text: string | Buffer, at: number, stream: LivePiece["stream"] = "stdout") => ({
  stream,
  at,
  bytes: Buffer.from(text),
});

/** A member with a submission of the playground. */
async function playing(t: TestContext, open: OpenTemporary, options: Options = {}) {
  const running = await startHttp(t, { open, ...options });
  const { store } = running;
  const { id: accountId } = await store.accounts.ensure("club", "beta", "test");
  const bob = await signedIn(running, "bob@example.com", [accountId]);
  const submit = async (): Promise<string> => {
    const body = { accountId, language: "python", code: "print(1)", stdin: "", profile: "judge" };
    const { status, json } = await bob.ask({ method: "POST", path: SUBMISSIONS, body });
    assert.equal(status, 202);
    return json.id;
  };
  const claim = async () => {
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    return claim;
  };
  return { ...running, accountId, bob, submit, claim };
}

onEachDatabase((open) => {
  test("a viewer receives each state and output as it occurs", async (t) => {
    const setup = await playing(t, open);
    const { store, bob, submit, claim } = setup;
    const id = await submit();
    const watching = await watch(setup, bob, id);
    assert.deepEqual(
      [watching.response.statusCode, watching.response.headers["content-type"]],
      [200, "text/event-stream; charset=utf-8"],
    );
    assert.deepEqual((await watching.next("status")).data, { status: "pending" });
    const { lease, live } = await claim();
    assert.equal(live, true);
    assert.deepEqual((await watching.next("status", 2)).data, { status: "running" });
    // A split character arrives whole, with the piece that completes it.
    const euro = Buffer.from("€");
    await store.live.append(lease, 0, [piece(Buffer.concat([Buffer.from("a"), euro.subarray(0, 1)]), 0)]);
    assert.deepEqual((await watching.next("stdout")).data, { at: 0, text: "a" });
    await store.live.append(lease, 1, [piece(euro.subarray(1), 2), piece("oh", 0, "stderr")]);
    assert.deepEqual((await watching.next("stdout", 2)).data, { at: 2, text: "€" });
    assert.deepEqual((await watching.next("stderr")).data, { at: 0, text: "oh" });
    // A later viewer receives the output so far.
    const late = await watch(setup, bob, id);
    assert.deepEqual((await late.next("stdout", 2)).data, { at: 2, text: "€" });
    await store.submissions.finish(lease, DONE);
    for (const one of [watching, late]) {
      const { data } = await one.next("ended");
      await one.ended;
      assert.deepEqual([data.row.id, data.row.status, data.explanation.title], [id, "completed", "Accepted"]);
      assert.equal(one.received.at(-1)?.event, "ended");
    }
    const after = await watch(setup, bob, id);
    await after.ended;
    assert.deepEqual(
      after.received.map(({ event }) => event),
      ["ended"],
    );
  });

  test("a repeated run shows its output from the beginning", async (t) => {
    const setup = await playing(t, open);
    const { store, bob, submit, claim } = setup;
    const watching = await watch(setup, bob, await submit());
    const first = await claim();
    await store.live.append(first.lease, 0, [piece(Buffer.from([0xe2]), 0)]);
    await watching.next("stdout");
    await store.submissions.requeue(first.lease);
    const second = await claim();
    await store.live.append(second.lease, 0, [piece("x", 0)]);
    assert.deepEqual((await watching.next("stdout", 2)).data, { at: 0, text: "x" });
    watching.leave();
  });
});

onEachDatabase((open) => {
  test("an idle view sends heartbeats, and ends with its session or membership", async (t) => {
    const setup = await playing(t, open, { heartbeatMs: 30 });
    const { bob, submit, store } = setup;
    const id = await submit();
    const [one, other] = [
      await watch(setup, bob, id),
      await watch(setup, await signedIn(setup, "eve@example.com", [setup.accountId]), id),
    ];
    await Promise.all([one.next("alive", 2), other.next("alive", 2)]);
    await bob.ask({ method: "DELETE", path: "/dashboard/api/session" });
    await one.ended;
    const eve = (await store.people.list()).find(({ email }) => email === "eve@example.com");
    await store.people.update(eve?.id ?? "", { accountIds: [] }, "test");
    await other.ended;
    assert.ok(![...one.received, ...other.received].some(({ event }) => event === "ended"));
  });
});

onEachDatabase((open) => {
  test("a busy view ends within two seconds after its session or membership", async (t) => {
    const setup = await playing(t, open);
    const { bob, submit, store, claim } = setup;
    const id = await submit();
    const { lease } = await claim();
    const eve = await signedIn(setup, "eve@example.com", [setup.accountId]);
    const views = [await watch(setup, bob, id), await watch(setup, eve, id)];
    let at = 0;
    const write = setInterval(() => void store.live.append(lease, at, [piece("x", at++)]), 20);
    t.after(() => clearInterval(write));
    await Promise.all(views.map((view) => view.next("stdout", 10)));
    const sinceChangeMs = stopwatch();
    await bob.ask({ method: "DELETE", path: "/dashboard/api/session" });
    await store.people.update(eve.id, { accountIds: [] }, "test");
    await Promise.all(views.map((view) => view.ended));
    assert.ok(sinceChangeMs() < 2_000);
    clearInterval(write);
    for (const view of views) view.leave();
  });
});

test("limits the views of a person, and frees a place when a view closes", async (t) => {
  const setup = await playing(t, temporaryStore);
  const { bob, submit } = setup;
  const id = await submit();
  const watching = await Promise.all(Array.from({ length: 16 }, () => watch(setup, bob, id)));
  const path = `${SUBMISSIONS}/${id}/live`;
  const refused = await bob.ask({ path });
  assert.deepEqual(
    [refused.status, refused.json.error],
    [429, "too many runs or lists are watched at the same time: close one of them"],
  );
  watching[0]?.leave();
  for (const until = performance.now() + 5_000; ; await sleep(10)) {
    const more = await watch(setup, bob, id);
    more.leave();
    if (more.response.statusCode === 200) break;
    assert.ok(performance.now() < until, "no place was freed");
  }
  for (const one of watching) one.leave();
});

test("a client that disconnects before its view begins keeps no place", async (t) => {
  const setup = await playing(t, temporaryStore);
  const { bob, submit, store, caPath, port } = setup;
  const id = await submit();
  const { search } = store.submissionSearch;
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  Object.assign(store.submissionSearch, {
    search: async (...which: Parameters<typeof search>) => {
      asked++;
      await gate.promise;
      return await search(...which);
    },
  });
  for (let n = 1; n <= 24; n++) {
    const raw = Raw.secure(port, caPath);
    raw.write(`GET ${SUBMISSIONS}/${id}/live HTTP/1.1\r\nHost: localhost\r\nCookie: ${bob.cookie}\r\n\r\n`);
    for (const until = performance.now() + 5_000; asked < n; await sleep(5)) assert.ok(performance.now() < until);
    raw.socket.destroy();
  }
  await sleep(200); // until the service has noticed the disconnects
  Object.assign(store.submissionSearch, { search });
  gate.resolve();
  const watching = await watch(setup, bob, id);
  watching.leave();
  assert.equal(watching.response.statusCode, 200);
});

test("a stopping service ends its views", async (t) => {
  const setup = await playing(t, temporaryStore);
  const watching = await watch(setup, setup.bob, await setup.submit());
  await watching.next("status");
  const tookMs = stopwatch();
  await setup.server.close();
  await watching.ended;
  assert.ok(tookMs() < 1_500);
});

test("rejects views of other accounts' runs, of unknown runs and without a session", async (t) => {
  const setup = await playing(t, temporaryStore);
  const id = await setup.submit();
  const eve = await signedIn(setup, "eve@example.com", []);
  for (const [ask, path, status] of [
    [eve.ask, id, 404],
    [setup.bob.ask, "00000000-0000-4000-8000-000000000000", 404],
  ] as const) {
    const reply = await ask({ path: `${SUBMISSIONS}/${path}/live` });
    assert.deepEqual([reply.status, reply.json.error], [status, "not found, or you have no access to it"]);
  }
  assert.equal((await setup.ask({ path: `${SUBMISSIONS}/${id}/live`, key: null })).status, 401);
});
