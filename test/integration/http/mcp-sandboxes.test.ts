import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { SHOWN_BYTES } from "../../../src/http/mcp/results.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { type Options, startHttp } from "../../support/http/running.ts";
import { WAYS } from "../../support/mcp/clients.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

const LIMIT = { timeout: 120_000 };
const SANDBOX_TOOLS = [
  "sandbox_create",
  "sandbox_list",
  "sandbox_run",
  "sandbox_result",
  "sandbox_input",
  "sandbox_kill",
  "sandbox_read_file",
  "sandbox_write_file",
  "sandbox_list_files",
  "sandbox_snapshot",
  "sandbox_pause",
  "sandbox_resume",
  "sandbox_end",
];

/** The official client, connected to a service whose sandboxes are in memory. */
async function serving(t: TestContext, options: Options = {}, way = "HTTP with a handshake") {
  const made: MemorySandboxes[] = [];
  const running = await startHttp(t, {
    ...options,
    sandboxesOver: (store) => {
      const host = new MemorySandboxes(store);
      made.push(host);
      return host;
    },
  });
  const [host] = made;
  const connect = WAYS[way];
  assert.ok(host && connect);
  const where = { url: `https://localhost:${running.port}`, caPath: running.caPath };
  const connected = async (key: string) => await connect(t, { ...where, key });
  const key = await running.key({ profiles: ["agent"] });
  const { client, call } = await connected(key);
  const sandbox_id: string = (await call("sandbox_create")).structuredContent.sandbox_id;
  const of = (name: string, args: object = {}) => call(`sandbox_${name}`, { sandbox_id, ...args });
  return { ...running, host, client, call, of, connected, sandbox_id, agent: key };
}

onEachDatabase((open) => {
  for (const way of ["HTTP with a handshake", "HTTP without a handshake"])
    test(`${way}: a model creates a sandbox, works in it, and ends it`, LIMIT, async (t) => {
      const { call, of, sandbox_id } = await serving(t, { open }, way);
      const first = await of("run", { shell: "echo one" });
      const { verdict, why, number, stdout } = first.structuredContent;
      assert.deepEqual([verdict, why, number, stdout.text], ["AC", "The exit code is 0.", 1, "one\n"]);
      assert.match(first.texts[0] ?? "", /^AC: The exit code is 0\.\n.*\nExecution 1 of sandbox [0-9a-f-]{36}\.$/s);
      assert.equal(first.texts[1], "stdout, 4 bytes:\none\n");
      assert.equal((await of("run", { shell: "cat", stdin: "typed" })).structuredContent.stdout.text, "typed");
      const written = await of("write_file", { path: "d/a.txt", text: "hü" });
      assert.deepEqual(written.structuredContent, { path: "/home/user/d/a.txt", bytes: 3 });
      assert.equal((await of("write_file", { path: "b", base64: "AAH/" })).structuredContent.bytes, 3);
      const read = await of("read_file", { path: "d/a.txt" });
      assert.deepEqual(read.structuredContent, {
        ...{ path: "/home/user/d/a.txt", offset: 0, text: "hü", bytes: 3, next_offset: null },
      });
      assert.equal((await of("read_file", { path: "d/a.txt", offset: 3 })).structuredContent.text, "");
      const listed = await of("list_files");
      assert.deepEqual(
        listed.structuredContent.entries.map(({ path }: { path: string }) => path),
        ["/home/user/b", "/home/user/d/a.txt"],
      );
      assert.equal((await of("end")).structuredContent.end_reason, "client");
      assert.equal(
        (await call("sandbox_end", { sandbox_id: sandbox_id.toUpperCase() })).structuredContent.end_reason,
        "client",
      );
      const later = await of("result", { number: 1 });
      assert.equal(later.structuredContent.execution.stdout.text, "one\n");
    });

  test("long outputs and files come in parts, with a note that says how to read the rest", LIMIT, async (t) => {
    const { of } = await serving(t, { open });
    // Three bytes a character, so that a part of SHOWN_BYTES would end within one.
    const text = "€".repeat(2 * SHOWN_BYTES);
    const shown = (await of("run", { shell: "cat", stdin: text })).structuredContent.stdout;
    assert.ok(shown.text.length < SHOWN_BYTES);
    assert.equal(shown.bytes, 3 * text.length);
    const [, number, offset] =
      /bytes left out: sandbox_result with number (\d+), stream "stdout", offset (\d+)/.exec(shown.text) ?? [];
    const next = await of("result", { number: Number(number), stream: "stdout", offset: Number(offset) });
    assert.match(next.structuredContent.page.text, /^€+$/);
    await of("write_file", { path: "long", text });
    let read = "";
    for (let at: number | null = 0; at !== null; ) {
      const { structuredContent: part }: { structuredContent?: { text: string; next_offset: number | null } } =
        await of("read_file", { path: "long", offset: at });
      assert.ok(part && Buffer.byteLength(part.text) <= SHOWN_BYTES);
      read += part.text;
      at = part.next_offset;
    }
    assert.equal(read, text);
  });

  test("an execution that does not end in time, or is in the background, is found by its number", LIMIT, async (t) => {
    const { of } = await serving(t, { open, holdMs: 200 });
    const late = (await of("run", { shell: "sleep" })).structuredContent;
    assert.deepEqual([late.status, late.verdict, late.stdout], ["running", null, null]);
    assert.match(late.why, /^It did not end within 0\.2 s and continues: call sandbox_result with its number\.$/);
    const behind = (await of("run", { shell: "sleep", background: true })).structuredContent;
    assert.deepEqual([behind.number, behind.why.slice(0, 25)], [2, "It runs in the background"]);
    assert.equal((await of("result", { number: 1 })).structuredContent.execution.status, "running");
    const early = await of("result", { number: 1, stream: "stdout" });
    assert.deepEqual([early.isError, early.text], [true, "the execution has not ended yet"]);
    const none = await of("result", { number: 99 });
    assert.deepEqual([none.isError, none.text], [true, "execution not found"]);
  });

  test("a model that lost the id finds its sandbox, and no one else's", LIMIT, async (t) => {
    const { call, connected, key, sandbox_id } = await serving(t, { open });
    const tagged: string = (await call("sandbox_create", { metadata: { task: "7\n" } })).structuredContent.sandbox_id;
    const found = async (args: object) =>
      (await call("sandbox_list", { ...args })).structuredContent.sandboxes.map(
        (one: { sandbox_id: string }) => one.sandbox_id,
      );
    assert.deepEqual(await found({}), [tagged, sandbox_id]);
    assert.deepEqual(await found({ metadata: { task: "7\n" } }), [tagged]);
    assert.deepEqual(await found({ metadata: { task: "8" } }), []);
    const { texts } = await call("sandbox_list", { metadata: { task: "7\n" } });
    assert.equal(texts[0], "1 sandboxes.");
    assert.match(texts[1] ?? "", new RegExp(`^${tagged}  running  \\S+  \\{"task":"7\\\\n"\\}$`));
    await call("sandbox_end", { sandbox_id });
    assert.deepEqual([await found({ state: "running" }), await found({ state: "ended" })], [[tagged], [sandbox_id]]);
    for (let more = 0; more < 20; more++) {
      const made: string = (await call("sandbox_create")).structuredContent.sandbox_id;
      await call("sandbox_end", { sandbox_id: made });
    }
    const first = (await call("sandbox_list")).structuredContent;
    const second = (await call("sandbox_list", { before: first.next })).structuredContent;
    assert.deepEqual([first.sandboxes.length, second.sandboxes.length, second.next], [20, 2, null]);
    const foreign = await connected(await key({ profiles: ["agent"], account: "foreign" }));
    assert.deepEqual((await foreign.call("sandbox_list")).structuredContent, { sandboxes: [], next: null });
  });

  test("a model gives input, signals and kills", LIMIT, async (t) => {
    const { of, sandbox_id } = await serving(t, { open });
    const refused = async (name: string, args: object, expected: RegExp) => {
      const { isError, text } = await of(name, args);
      assert.deepEqual([isError, expected.test(text)], [true, true], text);
    };
    await of("run", { shell: "cat", open_input: true, background: true });
    const given = await of("input", { number: 1, text: "hü\n" });
    assert.deepEqual(given.structuredContent, { sandbox_id, number: 1, bytes: 4 });
    await refused("input", { number: 1 }, /^the arguments: must have text or end$/);
    assert.equal((await of("input", { number: 1, end: true })).structuredContent.bytes, 0);
    assert.equal((await of("result", { number: 1 })).structuredContent.execution.stdout.text, "hü\n");
    await refused("input", { number: 1, text: "late" }, /^the execution has ended$/);
    await refused("input", { number: 1, text: "é".repeat(600_000) }, /^text: more than 1048576 bytes$/);
    await refused("input", { number: 9, text: "never" }, /^execution not found$/);
    await of("run", { shell: "sleep", background: true });
    await refused("input", { number: 2, text: "x" }, /input/);
    const signalled = (await of("kill", { number: 2, signal: "SIGUSR1" })).structuredContent;
    assert.deepEqual([signalled.number, signalled.status], [2, "running"]);
    const killed = (await of("kill", { number: 2 })).structuredContent;
    assert.deepEqual([killed.status, killed.stdout.text], ["completed", "SIGUSR1\n"]);
    assert.deepEqual((await of("kill", { number: 2 })).structuredContent, killed);
    await refused("kill", { number: 2, signal: "SIGTERM" }, /^the execution has ended$/);
    await refused("kill", { number: 3 }, /^execution not found$/);
  });

  test("a model pauses, resumes, and begins a sandbox with a snapshot", LIMIT, async (t) => {
    const { of, call, sandbox_id, ask, agent } = await serving(t, { open });
    assert.deepEqual((await of("pause")).structuredContent, { sandbox_id, state: "paused" });
    assert.match((await of("run", { shell: "echo" })).text, /paused/);
    assert.deepEqual((await of("resume")).structuredContent, { sandbox_id, state: "running" });
    const { snapshot_id, bytes, files } = (await of("snapshot", { name: "before" })).structuredContent;
    assert.deepEqual([bytes, files], [2000, 3]);
    const made: string = (await call("sandbox_create", { from: snapshot_id })).structuredContent.sandbox_id;
    assert.equal((await ask({ path: `/api/sandboxes/${made}`, key: agent })).json.from_snapshot, snapshot_id);
    for (const name of ["", "x".repeat(129)]) {
      const { isError, text } = await of("snapshot", { name });
      assert.deepEqual([isError, /^name: does not have 1 to 128 characters$/.test(text)], [true, true], text);
    }
  });

  test("errors name the reason to the model", LIMIT, async (t) => {
    const { of, host, agent, ask, sandbox_id, call } = await serving(t, { open });
    const refused = async (name: string, args: object, expected: RegExp) => {
      const { isError, text } = await of(name, args);
      assert.deepEqual([isError, expected.test(text)], [true, true], text);
    };
    await refused("run", {}, /^the body: must have exactly one of argv, shell and code$/);
    await refused("run", { shell: "echo", language: "python" }, /language/);
    await refused("run", { shell: "echo", nonsense: 1 }, /nonsense/);
    await refused("write_file", { path: "a" }, /must have either text or base64/);
    await refused("write_file", { path: "a", base64: "%" }, /base64/);
    await refused("read_file", { path: "missing" }, /there is no such file/);
    await refused("result", { number: 1, offset: 1 }, /^stream: is required with offset$/);
    host.refuses = new SandboxRefused("sandboxQuota", { what: "executions", most: 16 });
    await refused("run", { shell: "echo" }, /most of executions of sandboxes: 16; .*retry in 1 s$/);
    host.refuses = null;
    const path = `/api/sandboxes/${sandbox_id}`;
    assert.equal((await ask({ method: "POST", path: `${path}/pause`, key: agent })).status, 200);
    await refused("run", { shell: "echo" }, /paused/);
    assert.equal((await ask({ method: "DELETE", path, key: agent })).status, 200);
    for (const [name, args] of [
      ["run", { shell: "echo" }],
      ["read_file", { path: "a" }],
      ["write_file", { path: "a", text: "" }],
      ["list_files", {}],
    ] as const)
      await refused(name, args, /^the sandbox has ended: a client ended it$/);
    const unknown = await call("sandbox_run", { sandbox_id: randomUUID(), shell: "echo" });
    assert.deepEqual([unknown.isError, unknown.text], [true, "sandbox not found"]);
  });

  test("only a caller that may have sandboxes sees their tools, and no other account reaches one", LIMIT, async (t) => {
    const { client, connected, key, sandbox_id } = await serving(t, { open });
    const names = async (of: typeof client) => (await of.listTools()).tools.map(({ name }) => name);
    assert.deepEqual((await names(client)).slice(-SANDBOX_TOOLS.length), SANDBOX_TOOLS);
    const judging = await connected(await key({ profiles: ["judge"], account: "judging" }));
    assert.deepEqual(
      (await names(judging.client)).filter((name) => name.startsWith("sandbox_")),
      [],
    );
    for (const [tool, args] of [
      ["sandbox_create", {}],
      ["sandbox_list", {}],
      ["sandbox_run", { sandbox_id, shell: "echo" }],
      ["sandbox_end", { sandbox_id }],
    ] as const) {
      const { isError, text } = await judging.call(tool, args);
      assert.deepEqual([isError, text], [true, "this API key may not use the profile agent"], tool);
    }
    const foreign = await connected(await key({ profiles: ["agent"], account: "foreign" }));
    for (const [tool, args] of [
      ["sandbox_run", { shell: "echo" }],
      ["sandbox_result", { number: 1 }],
      ["sandbox_read_file", { path: "a" }],
      ["sandbox_write_file", { path: "a", text: "" }],
      ["sandbox_list_files", {}],
      ["sandbox_input", { number: 1, text: "x" }],
      ["sandbox_kill", { number: 1 }],
      ["sandbox_snapshot", {}],
      ["sandbox_pause", {}],
      ["sandbox_resume", {}],
      ["sandbox_end", {}],
    ] as const) {
      const { isError, text } = await foreign.call(tool, { sandbox_id, ...args });
      assert.deepEqual([isError, text], [true, "sandbox not found"], tool);
    }
  });

  test(
    "a model gives a sandbox a network within the bound, and sees what was denied, in a bounded text of its own",
    LIMIT,
    async (t) => {
      const { call, store } = await serving(t, { open });
      const owner = (await store.keys.list()).find(({ profiles }) => profiles.includes("agent"));
      const network = { allow: [{ host: "api.example.com", ports: [443] }] };
      const closed = await call("sandbox_create", { network });
      assert.match(closed.texts[0] ?? "", /^network: no network is open for this account/);
      const mistake = await call("sandbox_create", {
        network: { allow: [{ host: "api.example.com", ports: ["443"] }] },
      });
      assert.match(mistake.texts[0] ?? "", /^network\.allow\.0\.ports\.0: /);
      const bound = { policy: parseNetworkPolicy(network), upPerDay: null, downPerDay: null };
      await store.egress.setBound({ accountId: owner?.accountId ?? "", projectId: null }, bound, "test");
      const { sandbox_id } = (await call("sandbox_create", { network })).structuredContent;
      const many = Array.from({ length: 30 }, (_, at) => `h${at}.example.net`);
      const ran = await call("sandbox_run", { sandbox_id, shell: `reach api.example.com ${many.join(" ")}` });
      const denied = ran.structuredContent.denied_hosts;
      assert.equal(denied.length, 20);
      assert.deepEqual(denied[0], {
        host: "h0.example.net",
        port: 443,
        reason: "h0.example.net is not allowed by the policy of this sandbox",
      });
      assert.match(ran.texts[0] ?? "", /The network policy denied/);
      assert.ok(ran.texts[1]?.split("\n").every((line) => Array.isArray(JSON.parse(line))));
      const fine = await call("sandbox_run", { sandbox_id, shell: "reach api.example.com" });
      assert.deepEqual(fine.structuredContent.denied_hosts, []);
      assert.doesNotMatch(fine.texts.join(), /denied/);
      const later = await call("sandbox_result", { sandbox_id, number: 1 });
      assert.deepEqual(later.structuredContent.execution.denied_hosts, denied);
      const without = (await call("sandbox_create")).structuredContent.sandbox_id;
      assert.equal(
        (await call("sandbox_run", { sandbox_id: without, shell: "echo a" })).structuredContent.denied_hosts,
        null,
      );
    },
  );
});
