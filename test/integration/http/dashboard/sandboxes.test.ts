import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { test } from "node:test";
import type { SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { type Asker, entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { MemorySandboxes } from "../../../support/http/memory-sandboxes.ts";
import type { Options } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const MIB = 1_048_576;

async function start(t: TestContext, open: NonNullable<Options["open"]>) {
  const club = await startTwoTenants(t, { open, sandboxesOver: (store) => new MemorySandboxes(store) });
  const { running } = club;
  const keys = {
    mine: await running.key({ project: "shop", name: "agent", profiles: ["agent"] }),
    theirs: await running.key({ account: "others", profiles: ["agent"] }),
  };
  const send = async (key: string, method: string, path: string, body: object = {}) =>
    (await running.ask({ key, method, path: `/api/sandboxes${path}`, body })).json;
  const create = async (key = keys.mine, body: object = {}): Promise<string> => (await send(key, "POST", "", body)).id;
  const execute = async (id: string, body: object, key = keys.mine): Promise<number> =>
    (await send(key, "POST", `/${id}/executions`, body)).number;
  return { ...club, keys, send, create, execute };
}

/** The events of a stream that ends by itself. */
async function eventsOf(ask: Asker, path: string): Promise<readonly (readonly [event: string, data: unknown])[]> {
  const { status, text } = await ask("GET", path);
  assert.equal(status, 200, text);
  const events = text.split("\n\n").filter((event) => event.startsWith("event: "));
  return events.map((event) => {
    const [, name = "", data = ""] = /^event: (\w+)\n(?:id: \S+\n)?data: (.*)$/s.exec(event) ?? [];
    return [name, JSON.parse(data)] as const;
  });
}

onEachDatabase((open) => {
  test(
    "lists sandboxes by account, project and state in pages, and describes one with what it uses",
    LIMIT,
    async (t) => {
      const { ada, eve, root, accountId, projectId, keys, create, execute, running } = await start(t, open);
      const first = await create(keys.mine, { metadata: { task: "42" }, limits: { memory_bytes: 128 * MIB } });
      const second = await create();
      const theirs = await create(keys.theirs);
      await execute(first, { shell: "echo hello" });
      const ids = async (ask: Asker, query = "") =>
        (await ask("GET", `/sandboxes${query}`)).json.sandboxes.map(({ id }: { id: string }) => id);
      assert.deepEqual(await ids(ada), [second, first]);
      assert.deepEqual(await ids(eve), [theirs]);
      assert.deepEqual(await ids(root), [theirs, second, first]);
      assert.deepEqual(await ids(root, `?project=${projectId}`), [second, first]);
      assert.deepEqual(await ids(root, `?account=${accountId}&state=running`), [second, first]);
      assert.deepEqual(await ids(ada, "?state=ended"), []);
      assert.deepEqual((await eve("GET", `/sandboxes?account=${accountId}`)).json, NOT_THERE);
      const page = (await ada("GET", "/sandboxes?limit=1")).json;
      assert.deepEqual([page.sandboxes.length, page.capacity], [1, 8]);
      const rest = (await ada("GET", `/sandboxes?limit=1&before=${page.next}`)).json;
      assert.deepEqual([rest.sandboxes[0].id, rest.next], [first, null]);
      const { json, headers } = await ada("GET", `/sandboxes/${first.toUpperCase()}`);
      assert.match(String(headers.etag), /^W\//);
      const { row, limits, use, executions, proofs } = json;
      assert.deepEqual([row.state, row.metadata, row.memoryBytes], ["running", { task: "42" }, 128 * MIB]);
      assert.deepEqual([row.key.name, row.project.name, row.ended, row.endedAt], ["agent", "shop", null, null]);
      assert.equal(Date.parse(row.expiresAt) - Date.parse(row.startedAt), 3_600_000);
      assert.equal(limits.memoryBytes, 128 * MIB);
      assert.deepEqual([use.memoryBytes, use.cpuUsec, use.processes, use.oomKills], [1, 3_000_000, 4, 5]);
      const [execution] = executions.executions;
      assert.deepEqual([execution.number, execution.command, execution.verdict], [1, "echo hello", "AC"]);
      assert.deepEqual(
        proofs
          .filter(({ field }: { field: string }) => field.startsWith("controls"))
          .map(({ value }: { value: string }) => value),
        ["pid_namespace", "none"],
      );
      // A list of others shows no sandbox of Ada, and her sandbox is like an unknown one.
      for (const path of [`/sandboxes/${first}`, `/sandboxes/${first}/executions`, `/sandboxes/${first}/executions/1`])
        assert.deepEqual((await eve("GET", path)).json, NOT_THERE, path);
      assert.equal(
        running.logs.some((line) => /"level":50/.test(line)),
        false,
      );
    },
  );

  test("a person pauses, resumes and ends a sandbox, each with an entry in the audit trail", LIMIT, async (t) => {
    const club = await start(t, open);
    const { ada, eve, create, execute } = club;
    const id = await create();
    const change = async (verb: string, ask = ada) => await ask("POST", `/sandboxes/${id}/${verb}`);
    for (const verb of ["pause", "resume", "end"]) assert.deepEqual((await change(verb, eve)).json, NOT_THERE, verb);
    await execute(id, { shell: "sleep 60", background: true });
    assert.equal((await change("pause")).json.row.state, "paused");
    assert.equal((await change("pause")).json.row.state, "paused");
    assert.equal((await ada("GET", `/sandboxes/${id}`)).json.row.state, "paused");
    assert.equal((await change("resume")).json.row.state, "running");
    const ended = (await change("end")).json;
    assert.deepEqual([ended.row.state, ended.row.ended, ended.use], ["ended", "a client ended it", null]);
    assert.equal(ended.executions.executions[0].status === "running", false);
    const late = await change("end");
    assert.deepEqual([late.status, late.json.error], [410, "the sandbox has ended: a client ended it"]);
    assert.deepEqual(await entriesOf(club, ada), [
      ["sandbox.end", id],
      ["sandbox.resume", id],
      ["sandbox.pause", id],
    ]);
    assert.deepEqual(await entriesOf(club, eve), []);
  });

  test(
    "an execution has its verdict, output and evidence; reading one as an administrator is recorded",
    LIMIT,
    async (t) => {
      const club = await start(t, open);
      const { ada, eve, root, create, execute } = club;
      const id = await create();
      await execute(id, { shell: "echo one" });
      await execute(id, { argv: ["printf", "%s", "it's"], background: true });
      const path = `/sandboxes/${id}/executions/1`;
      const { json } = await ada("GET", path);
      assert.deepEqual([json.command, json.cwd, json.key.name], ["echo one", "/home/user", "agent"]);
      assert.deepEqual([json.run.stdout, json.run.stderr, json.run.row.verdict], ["one\n", "", "AC"]);
      assert.ok(json.run.explanation.title.length > 0 && json.run.proofs.length > 10 && json.run.usage.length > 0);
      const running = (await ada("GET", `/sandboxes/${id}/executions/2`)).json;
      assert.deepEqual([running.run, running.command], [null, "printf %s 'it'\\''s'"]);
      const output = await ada("GET", `${path}/output/stdout`);
      assert.deepEqual([output.text, output.headers["content-type"]], ["one\n", "application/octet-stream"]);
      assert.equal((await ada("GET", `/sandboxes/${id}/executions/2/output/stdout`)).status, 404);
      for (const [asker, missing] of [
        [ada, `/sandboxes/${id}/executions/3`],
        [ada, `/sandboxes/${id}/executions/x`],
        [ada, `${path}/output/stdin`],
        [eve, `${path}/output/stdout`],
        [eve, `${path}/live`],
        [eve, `/sandboxes/${id}/live`],
      ] as const)
        assert.deepEqual((await asker("GET", missing)).json, NOT_THERE, missing);
      const list = (await ada("GET", `/sandboxes/${id}/executions?before=2`)).json;
      assert.deepEqual([list.executions.length, list.executions[0].number, list.next], [1, 1, null]);
      assert.deepEqual(await entriesOf(club, root), []);
      await root("GET", path);
      await root("GET", path);
      assert.deepEqual(await entriesOf(club, root), [["sandbox.read", id]]);
    },
  );

  test("streams follow the output of an execution, and a sandbox until its end", LIMIT, async (t) => {
    const { ada, keys, create, execute, send } = await start(t, open);
    const id = await create();
    const number = await execute(id, { shell: "cat", open_input: true, background: true });
    const [live, watched] = [
      eventsOf(ada, `/sandboxes/${id}/executions/${number}/live`),
      eventsOf(ada, `/sandboxes/${id}/live`),
    ];
    await send(keys.mine, "POST", `/${id}/executions/${number}/signal`, { signal: "SIGTERM" });
    const events = await live;
    const text = events.filter(([event]) => event === "stdout").map(([, data]) => (data as { text: string }).text);
    assert.equal(text.join(""), "SIGTERM\n");
    const [last, detail] = events.at(-1) as [string, { run: { stdout: string } }];
    assert.deepEqual([last, detail.run.stdout], ["ended", "SIGTERM\n"]);
    const again = await eventsOf(ada, `/sandboxes/${id}/executions/${number}/live`);
    assert.deepEqual(again.at(-1), events.at(-1));
    await ada("POST", `/sandboxes/${id}/end`);
    const states = (await watched).filter(([event]) => event !== "alive");
    assert.deepEqual([states[0]?.[0], states.at(-1)?.[0]], ["state", "ended"]);
    const [, final] = states.at(-1) ?? assert.fail("the stream had no event");
    const { row } = final as SandboxDetail;
    assert.equal(row.ended, "a client ended it");
  });
});

test("a service without sandboxes says so, and its sessions too", LIMIT, async (t) => {
  const { ada } = await startTwoTenants(t);
  assert.deepEqual((await ada("GET", "/sandboxes")).json, { sandboxes: [], next: null, capacity: null });
  assert.equal((await ada("GET", "/session")).json.hasSandboxes, false);
  const on = await startTwoTenants(t, { sandboxesOver: (store) => new MemorySandboxes(store) });
  assert.equal((await on.ada("GET", "/session")).json.hasSandboxes, true);
});
