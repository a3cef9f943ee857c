import assert from "node:assert/strict";
import { test } from "node:test";
import { createProject } from "../../../../src/admin/projects.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { SAMPLES } from "../../../support/store/samples.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { report, signalled } from "../../../support/verdict/reports.ts";
import { deliveryBudget } from "../../../support/webhooks/project.ts";
import { watch } from "./watching.ts";

const SUBMISSIONS = "/dashboard/api/submissions";
const NOT_THERE = { error: "not found, or you have no access to it" };

onEachDatabase((open) => {
  test("the files of a program are listed, and each is sent to members of its account alone", async (t) => {
    const { running, ada, eve } = await startTwoTenants(t, { open });
    const key = await running.key({ project: "shop" });
    const other = "d e/данные (1)%.txt";
    const files = { "b/x.py": "ü = 1\n", "a.bin": { base64: "AAH/" }, "main.py": "import b.x\n", [other]: "два" };
    const { id } = (await running.submit({ language: "python", files, entry: "main.py" }, { key })).json;
    const { json } = await ada("GET", `/submissions/${id}`);
    assert.deepEqual([json.source, json.code], ["main.py", "import b.x\n"]);
    assert.deepEqual(json.files, [
      { path: "a.bin", bytes: 3, isText: false },
      { path: "b/x.py", bytes: 7, isText: true },
      { path: other, bytes: 6, isText: true },
    ]);
    const get = (path: string, who = ada) => who("GET", `/submissions/${id}/file?path=${encodeURIComponent(path)}`);
    const { status, text, headers } = await get("b/x.py");
    assert.deepEqual([status, text], [200, "ü = 1\n"]);
    assert.equal(headers["content-type"], "application/octet-stream");
    assert.equal(headers["content-disposition"], 'attachment; filename="x.py"');
    assert.equal(
      (await get(other)).headers["content-disposition"],
      `attachment; filename="______ (1)%.txt"; filename*=UTF-8''%D0%B4%D0%B0%D0%BD%D0%BD%D1%8B%D0%B5%20%281%29%25.txt`,
    );
    for (const path of ["", "main.py", "b", "../x", "b/x.py/", "__proto__"])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get("x".repeat(1_025))).status, 400);
    assert.equal((await get("b/x.py", eve)).status, 404);
  });
});

onEachDatabase((open) => {
  test("the audit trail of an account records access to a program by administrators, not by members", async (t) => {
    const { running, root, ada, accountId } = await startTwoTenants(t, { open });
    const body = { accountId, language: "python", code: "print(1)", stdin: "", profile: "judge" };
    const { id } = (await ada("POST", "/submissions", body)).json;
    const readings = async () =>
      (await ada("GET", "/audit")).json.entries.filter(
        ({ action }: { action: string }) => action === "submission.read",
      );
    assert.equal((await ada("GET", `/submissions/${id}`)).status, 200);
    assert.deepEqual(await readings(), []);
    for (let at = 0; at < 3; at++) assert.equal((await root("GET", `/submissions/${id}`)).status, 200);
    assert.equal((await root("GET", `/submissions/${id}/record`)).status, 200);
    assert.deepEqual(
      (await readings()).map(({ actor, subject, address }: Record<string, string>) => [actor, subject, address]),
      [["root@example.com", id, "127.0.0.1"]],
    );
    running.clock.nowMs += 3_600_000;
    await root("GET", `/submissions/${id}/record`);
    assert.equal((await readings()).length, 2);
    running.clock.nowMs += 3_600_000;
    for (const [{ person }, entries] of [
      [ada, 2],
      [root, 3],
    ] as const) {
      const view = await watch(running, person, id);
      await view.next("status");
      view.leave();
      assert.equal((await readings()).length, entries);
    }
  });

  test("a person finds only submissions of own accounts; an administrator finds all", async (t) => {
    const running = await startHttp(t, { open });
    const { store, key, submit } = running;
    await createProject(store, { name: "shop", account: "club" }, "test");
    const clubKey = await key({ project: "shop" });
    const club = (await store.accounts.list()).find(({ name }) => name === "club")?.id ?? "";
    const mine = (await submit({ language: "python", code: "a", stdin: "in" }, { key: clubKey })).json.id;
    await runPending(store);
    const young = (await submit({ language: "c", code: "b" }, { key: clubKey })).json.id;
    const theirs = (await submit()).json.id;
    const bob = await signedIn(running, "bob@example.com", [club]);
    const ada = await signedIn(running, "ada@example.com", "administrator");
    const nobody = await signedIn(running, "eve@example.com", []);
    const find = async (who: typeof bob, query = "") => {
      const { status, json } = await who.ask({ path: `${SUBMISSIONS}${query}` });
      assert.equal(status, 200, JSON.stringify(json));
      return json.submissions.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await find(ada), [theirs, young, mine]);
    assert.deepEqual(await find(bob), [young, mine]);
    assert.deepEqual(await find(nobody), []);
    assert.deepEqual(await find(ada, `?account=${club}`), [young, mine]);
    assert.deepEqual(await find(bob, "?verdict=AC"), [mine]);
    assert.deepEqual(await find(bob, "?status=pending&language=c"), [young]);
    assert.deepEqual(await find(bob, `?id=${theirs}`), []);
    assert.deepEqual(await find(bob, `?id=${mine.toUpperCase()}`), [mine]);
    const soon = new Date(Date.now() + 60_000).toISOString();
    assert.deepEqual(await find(bob, `?since=${soon}`), []);
    assert.deepEqual(await find(bob, `?until=${soon}`), [young, mine]);
    const page = await bob.ask({ path: `${SUBMISSIONS}?limit=1` });
    assert.deepEqual([page.json.submissions.length, typeof page.json.next], [1, "string"]);
    const last = await bob.ask({ path: `${SUBMISSIONS}?limit=1&before=${page.json.next}` });
    assert.deepEqual([last.json.submissions[0].id, last.json.next], [mine, null]);
    const [row] = last.json.submissions;
    const rest = { account: row.account, project: row.project.name, verdict: row.verdict, language: row.language };
    assert.deepEqual(rest, { account: { id: club, name: "club" }, project: "shop", verdict: "AC", language: "python" });
    assert.deepEqual(await find(ada, `?key=${row.key.id}&project=${row.project.id}`), [young, mine]);
    const other = (await store.submissionSearch.read(theirs, null))?.found.account.id;
    const refused = await bob.ask({ path: `${SUBMISSIONS}?account=${other}` });
    assert.deepEqual([refused.status, refused.json], [404, NOT_THERE]);
    for (const query of ["verdict=WA", "limit=0", "limit=501", "before=x", "since=today", "wath=1", "verdict="]) {
      const { status, json } = await bob.ask({ path: `${SUBMISSIONS}?${query}` });
      assert.equal(status, 400, `${query}: ${JSON.stringify(json)}`);
    }
  });

  test("a list has the cause of each end, for a program that does not compile, a cancelled one and a lost one", async (t) => {
    const running = await startHttp(t, { open });
    const { store, submit } = running;
    const ada = await signedIn(running, "ada@example.com", "administrator");
    const causes = async () =>
      (await ada.ask({ path: SUBMISSIONS })).json.submissions.map(
        ({ verdict, cause }: Record<string, string>) => `${verdict} ${cause}`,
      );
    await submit();
    await runPending(store);
    await submit({ language: "c", code: "int main(" });
    await runPending(store, () => buildOutcome({ compile: report({ exitCode: 1 }) }));
    const { id } = (await submit()).json;
    await store.submissions.cancel(id, (await store.submissionSearch.read(id, null))?.submission.accountId ?? "");
    await submit();
    assert.deepEqual(await causes(), ["null null", "IE cancelled", "RE compile_error", "AC normal_exit"]);
    await store.submissions.claim("w", 60_000);
    for (const attempts of [1, 2, 3]) {
      await store.submissions.sweepAll();
      assert.equal((await store.submissions.claim("w", 60_000)).length, attempts < 3 ? 1 : 0);
    }
    assert.equal((await causes())[0], "IE internal_error");
  });

  test("source, input and output are downloads with their exact bytes, also of a program that is one of its files", async (t) => {
    const running = await startHttp(t, { open });
    const { store, submit } = running;
    const ada = await signedIn(running, "ada@example.com", "administrator");
    const bytes = Buffer.from([0x00, 0xff, 0x0a]);
    const files = { "lib/run.py": "print(2)\n" };
    const { id } = (
      await submit({ language: "python", entry: "lib/run.py", files, stdin_base64: bytes.toString("base64") })
    ).json;
    const get = (name: string) => ada.ask({ path: `${SUBMISSIONS}/${id}/files/${name}` });
    assert.equal((await get("stdout")).status, 404);
    await runPending(store, () => buildOutcome({ execute: report({ stdout: bytes, stderr: Buffer.from("<b>") }) }));
    for (const [name, content, file] of [
      ["source", Buffer.from("print(2)\n"), "run.py"],
      ["stdin", bytes, `${id}-stdin.txt`],
      ["stdout", bytes, `${id}-stdout.txt`],
      ["stderr", Buffer.from("<b>"), `${id}-stderr.txt`],
    ] as const) {
      const { status, headers, text } = await get(name);
      assert.deepEqual([status, text], [200, content.toString()]);
      assert.equal(headers["content-length"], String(content.length));
      assert.equal(headers["content-type"], "application/octet-stream");
      assert.equal(headers["content-disposition"], `attachment; filename="${file}"`);
    }
    assert.equal((await get("record")).status, 404);
    assert.deepEqual((await ada.ask({ path: `${SUBMISSIONS}/${id}/deliveries` })).json, []);
    assert.equal(
      (await (await signedIn(running, "eve@example.com", [])).ask({ path: `${SUBMISSIONS}/${id}/files/stdout` }))
        .status,
      404,
    );
    const { json } = await ada.ask({ path: `${SUBMISSIONS}/${id}` });
    assert.deepEqual([json.source, json.code, json.live], ["lib/run.py", "print(2)\n", false]);
  });

  test("a submission has all its details, and its record as a download", async (t) => {
    const running = await startHttp(t, { open });
    const { store, submit } = running;
    const id = (await submit({ language: "python", code: "x = 'é'", stdin: "in\n" })).json.id;
    const ada = await signedIn(running, "ada@example.com", "administrator");
    const before = (await ada.ask({ path: `${SUBMISSIONS}/${id}` })).json;
    assert.deepEqual(
      [before.row.status, before.explanation, before.proofs, before.usage, before.timeline.length],
      ["pending", null, [], [], 1],
    );
    await runPending(store, () => ({
      ...buildOutcome({ execute: signalled(9, { oomKills: 1 }) }),
      runStats: {
        compileMs: null,
        execute: {
          ...{ runMs: 20, teardownMs: 2, processesPeak: 3, stdoutBytes: 0, stderrBytes: 0 },
          limits: { wallMs: 10_000, cpuMs: 4_000, stdoutBytes: 100, stderrBytes: 100 },
        },
      },
      samples: SAMPLES,
    }));
    const { json } = await ada.ask({ path: `${SUBMISSIONS}/${id.toUpperCase()}` });
    assert.deepEqual([before.samples, json.samples], [null, SAMPLES]);
    assert.equal("samples" in json.record, false);
    assert.deepEqual([json.code, json.stdin, json.attempts, json.deliveries], ["x = 'é'", "in\n", 1, []]);
    assert.deepEqual(
      [json.explanation.title, json.record.result.verdict, json.row.verdict],
      ["Memory limit exceeded", "MLE", "MLE"],
    );
    assert.deepEqual(
      json.timeline.map(({ step, phase }: { step: string; phase: string }) => `${step} ${phase}`),
      ["queue wait", "execute whole", "execute teardown"],
    );
    assert.deepEqual(
      json.usage.filter(({ met }: { met: boolean }) => met).map(({ name }: { name: string }) => name),
      ["memory"],
    );
    assert.ok(
      json.proofs.some(
        ({ field, value }: { field: string; value: string }) =>
          field === "limits.cgroup.oom_kill_events" && value === "1",
      ),
    );
    const record = await ada.ask({ path: `${SUBMISSIONS}/${id}/record` });
    assert.equal(record.headers["content-disposition"], `attachment; filename="${id}.json"`);
    assert.deepEqual(record.json, json.record);
    assert.deepEqual(record.json, (await running.ask({ path: `/api/result/${id}` })).json);
  });

  test("a submission of another account gets the same response as an unknown one", async (t) => {
    const running = await startHttp(t, { open });
    const id = (await running.submit()).json.id;
    const bob = await signedIn(running, "bob@example.com", []);
    for (const [method, path] of [
      ["GET", id],
      ["GET", `${id}/record`],
      ["GET", "00000000-0000-4000-8000-000000000000"],
      ["GET", "%01"],
      ["POST", `${id}/again`],
    ] as const) {
      const { status, json } = await bob.ask({ method, path: `${SUBMISSIONS}/${path}` });
      assert.deepEqual([status, json], [404, NOT_THERE], path);
    }
    for (const path of ["", `/${id}`, `/${id}/record`])
      assert.equal((await running.ask({ path: SUBMISSIONS + path })).status, 401, "an API key is not a session");
  });
});

test("a delivery has its attempts, without control characters", async (t) => {
  const running = await startHttp(t);
  const { store, key, submit } = running;
  const { id: projectId } = await createProject(store, { name: "shop" }, "test");
  await store.endpoints.add(
    { id: "e", projectId, url: "https://example.com/", seal: () => Buffer.from("s"), signing: "raw" },
    5,
    "test",
  );
  const { id } = (await submit(undefined, { key: await key({ project: "shop" }) })).json;
  await runPending(store);
  const [claim] = await store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(1) });
  assert.ok(claim);
  const attempt = { atMs: 5, latencyMs: 7, status: 500, error: null, answer: Buffer.from("no\x1b[2J") };
  const headers = { sentHeaders: [["host", "example.com"]], answerHeaders: [["x-\u202e", "\x1b[31m"]] } as const;
  await store.deliveries.recordAttempt(claim, { ...attempt, ...headers }, { state: "failed" });
  const ada = await signedIn(running, "ada@example.com", "administrator");
  const [delivery] = (await ada.ask({ path: `${SUBMISSIONS}/${id}` })).json.deliveries;
  const { createdAt: _, endedAt: __, ...rest } = delivery;
  assert.deepEqual(rest, {
    id: claim.id,
    endpointId: "e",
    url: "https://example.com/",
    submissionId: id,
    webhookId: id,
    kind: "result",
    state: "failed",
    nextAt: null,
    reason: null,
    attempts: [
      {
        ...{ number: 1, at: "1970-01-01T00:00:00.005Z", latencyMs: 7, status: 500, error: null, answer: "no\ufffd[2J" },
        sentHeaders: [["host", "example.com"]],
        answerHeaders: [["x-\ufffd", "\ufffd[31m"]],
      },
    ],
  });
});
