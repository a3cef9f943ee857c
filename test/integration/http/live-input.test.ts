import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../../bench/load/database.ts";
import { revokeKey } from "../../../src/admin/keys.ts";
import type { Outcome } from "../../../src/domain/outcome.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../../../src/store/live/input.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { PistonClient } from "../../support/http/piston-client.ts";
import { RunClient } from "../../support/http/run-client.ts";
import { type Options, startHttp } from "../../support/http/running.ts";
import { type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 30_000 };
const PROGRAM = { language: "python", code: "x" };
const bytes = (text: string): LiveInput => ({ kind: "bytes", bytes: Buffer.from(text) });

/** A service, and a worker without a sandbox: the test is the program. */
async function serving(t: TestContext, options: Options = {}) {
  const running = await startHttp(t, options);
  const { store, conversations } = running;
  const submit = async (body: object = {}): Promise<string> => {
    const { status, json } = await running.submit({ ...PROGRAM, live_input: true, ...body });
    assert.equal(status, 202, JSON.stringify(json));
    return json.id;
  };
  /** Claims the submission, and begins to run it. */
  const run = async () => {
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    const end = conversations.begin(claim);
    const got: LiveInput[] = [];
    const over = new AbortController();
    const passed = (async () => {
      for await (const input of end.inputs(over.signal)) got.push(input);
    })();
    const write = (content: string | Buffer, stream: "stdout" | "stderr" = "stdout") =>
      end.write(stream, Buffer.from(content));
    const finish = async (outcome: Outcome = buildOutcome({ execute: report({ stdout: Buffer.from("done\n") }) })) => {
      over.abort();
      await passed;
      await conversations.stop(claim);
      await store.submissions.finish(claim.lease, outcome);
      conversations.forget(claim);
    };
    /** Gives the run up, as after a failure of the platform. */
    const abandon = async (store: () => Promise<void>) => {
      over.abort();
      await passed;
      await conversations.stop(claim);
      await store();
      conversations.forget(claim);
    };
    t.after(() => over.abort());
    return { claim, got, write, finish, abandon, gets: (amount: number) => until(() => got.length >= amount) };
  };
  const client = (id: string, more: { key?: string; after?: string; headers?: Record<string, string> } = {}) => {
    const made = new RunClient({ ...running, key: running.defaultKey, id, ...more });
    t.after(() => made.close());
    return made;
  };
  const post = (id: string, path: string, body?: unknown, key?: string) =>
    running.ask({
      method: "POST",
      path: `/api/result/${id}/${path}`,
      ...(body !== undefined && { body }),
      ...(key !== undefined && { key }),
    });
  return { ...running, submit, run, client, post };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (const deadline = performance.now() + LIMIT.timeout; !isTrue(); await sleep(5))
    assert.ok(performance.now() < deadline, `never: ${isTrue}`);
}

function onEachImplementation(suite: (open: OpenTemporary, inProcess: boolean) => void): void {
  onEachDatabase((open) => {
    for (const inProcess of [true, false])
      describe(inProcess ? "in one process" : "through the database", () => suite(open, inProcess));
  });
}

onEachImplementation((open, inProcess) => {
  test("requests give a program input, signals and the end of its input, in order", LIMIT, async (t) => {
    const { submit, run, post } = await serving(t, { open, inProcess });
    const id = await submit({ stdin: "first\n" });
    const early = await post(id, "input", { input: "before\n" });
    assert.deepEqual([early.status, early.json], [202, { id, status: "pending" }]);
    const { claim, got, gets, finish } = await run();
    assert.deepEqual([claim.takesInput, claim.live, String(claim.program.stdin)], [true, true, "first\n"]);
    const during = await post(id, "input", { input: { base64: Buffer.from([0xff, 0]).toString("base64") } });
    assert.deepEqual([during.status, during.json], [202, { id, status: "running" }]);
    assert.equal((await post(id, "signal", { signal: "SIGUSR1" })).status, 202);
    assert.equal((await post(id, "input/end")).status, 202);
    await gets(4);
    assert.deepEqual(got, [
      bytes("before\n"),
      { kind: "bytes", bytes: Buffer.from([0xff, 0]) },
      { kind: "signal", signal: 10 },
      { kind: "end" },
    ]);
    await finish();
    for (const [path, body] of [
      ["input", { input: "late" }],
      ["input/end", undefined],
      ["signal", { signal: "SIGTERM" }],
    ] as const) {
      const late = await post(id, path, body);
      assert.deepEqual([late.status, late.json.error], [409, "the run has ended"], path);
    }
  });

  test("input that is not for this program is refused with the reason", LIMIT, async (t) => {
    const { submit, run, post, key } = await serving(t, { open, inProcess });
    const plain = await submit({ live_input: false });
    const other = await key();
    const takesNone = "the submission takes no live input: it was submitted without live_input";
    for (const isRunning of [false, true]) {
      if (isRunning) await run();
      const refused = await post(plain, "input", { input: "a" });
      assert.deepEqual([refused.status, refused.json.error], [409, takesNone]);
    }
    const id = await submit();
    assert.deepEqual([(await post(id, "input", { input: "a" }, other)).status], [404]);
    for (const [path, body, error] of [
      ["input", {}, /^input: /],
      ["input", { input: 1 }, /^input: /],
      ["input", { input: "a", more: 1 }, /more/],
      ["input", { input: { base64: "?" } }, /^input.base64: is not base64/],
      ["input", '{"input": "\\ud800"}', /unpaired surrogate/],
      ["signal", { signal: "SIGXCPU" }, /^signal: /],
      ["signal", { signal: 15 }, /^signal: /],
      ["input", "[", /not valid JSON/],
    ] as const) {
      const { status, json } = await post(id, path, body);
      assert.deepEqual([status, error.test(json.error)], [400, true], `${JSON.stringify(body)}: ${json.error}`);
    }
    const full = `a program gets at most ${MAX_LIVE_INPUT.bytes} bytes of input, with the stdin of its submission, in 10000 pieces`;
    for (const input of ["x".repeat(MAX_LIVE_INPUT.bytes + 1), { base64: Buffer.alloc(300_000).toString("base64") }]) {
      const { status, json } = await post(id, "input", { input });
      assert.deepEqual([status, json.error], [413, full]);
    }
    assert.equal((await post(id, "input", { input: "x".repeat(MAX_LIVE_INPUT.bytes) })).status, 202);
    assert.deepEqual([(await post(id, "input", { input: "x" })).json.error], [full]);
  });

  test("a WebSocket has the output of a program, and gives it input", LIMIT, async (t) => {
    const { submit, run, client } = await serving(t, { open, inProcess });
    const id = await submit();
    const one = client(id);
    await one.until(() => one.received.length > 0);
    assert.deepEqual(one.received, [{ type: "status", status: "pending" }]);
    await one.send(Buffer.from("early "));
    await sleep(20);
    const { got, gets, write, finish } = await run();
    await one.until(() => one.received.length > 1);
    write("ready\n");
    await one.until(() => one.output() === "ready\n");
    await one.send(
      Buffer.from([0xff]),
      { type: "input", input: "text" },
      { type: "input", input: { base64: "AA==" } },
      { type: "signal", signal: "SIGINT" },
      { type: "end" },
    );
    await gets(6);
    assert.deepEqual(got, [
      bytes("early "),
      { kind: "bytes", bytes: Buffer.from([0xff]) },
      bytes("text"),
      bytes("\0"),
      { kind: "signal", signal: 2 },
      { kind: "end" },
    ]);
    write("bye", "stderr");
    await one.until(() => one.output("stderr") === "bye");
    // Another client has everything from the start, or from where an earlier one was.
    const late = client(id);
    await late.until(() => late.output() === "ready\n" && late.output("stderr") === "bye");
    const first = late.received.find(({ type }) => type === "stdout");
    const resumed = client(id, { after: first.id });
    await resumed.until(() => resumed.output("stderr") === "bye");
    assert.equal(resumed.output(), "");
    await finish();
    for (const each of [one, late, resumed]) {
      assert.equal(await each.closed, "1000 the run has ended");
      const { type, record } = each.received.at(-1);
      assert.deepEqual([type, record.id, record.status, record.output.stdout], ["ended", id, "completed", "done\n"]);
    }
    assert.deepEqual(
      one.others().map(({ type, status }) => status ?? type),
      ["pending", "running", "ended"],
    );
    const after = client(id);
    assert.equal(await after.closed, "1000 the run has ended");
    assert.deepEqual(
      after.received.map(({ type }) => type),
      ["ended"],
    );
    await after.send(Buffer.from("late")).catch(() => {});
  });

  test("a client that follows a run gets all of its output, also what the program wrote last", LIMIT, async (t) => {
    const { submit, run, client, ask } = await serving(t, { open, inProcess });
    const id = await submit();
    const { write, finish } = await run();
    const one = client(id);
    write("a");
    write("e1", "stderr");
    await one.until(() => one.output() === "a" && one.output("stderr") === "e1");
    const resumed = client(id, { after: one.last() });
    const events = ask({ path: `/api/result/${id}/events` });
    await resumed.until(() => resumed.received.length > 0);
    await sleep(100); // until the request for the events follows the run
    const stdout = Buffer.from(`a\u{1f600} and ${"b".repeat(20_000)}`);
    write(stdout.subarray(1, 3)); // a part of the character
    await finish(buildOutcome({ execute: report({ stdout, stderr: Buffer.from("e1e2") }) }));
    for (const each of [one, resumed]) assert.equal(await each.closed, "1000 the run has ended");
    assert.deepEqual([one.output(), one.output("stderr")], [stdout.toString(), "e1e2"]);
    assert.deepEqual([resumed.output(), resumed.output("stderr")], [stdout.toString().slice(1), "e2"]);
    const texts = [...(await events).text.matchAll(/^event: stdout\ndata: (.*)$/gm)];
    assert.equal(texts.map(([, data = ""]) => JSON.parse(data).text).join(""), stdout.toString());
  });

  test("a client that has followed a failed attempt gets the whole output of the next one", LIMIT, async (t) => {
    const { submit, run, client, store } = await serving(t, { open, inProcess });
    const id = await submit({ live_input: false, stream: true });
    const { write, claim, abandon } = await run();
    const one = client(id);
    write("random 1\n\u{1f600}".slice(0, -1));
    await one.until(() => one.output().startsWith("random 1\n"));
    await abandon(async () => assert.ok(await store.submissions.requeue(claim.lease)));
    const { finish } = await run();
    const stdout = Buffer.from("random 2\nand more\n");
    await finish(buildOutcome({ execute: report({ stdout }) }));
    assert.equal(await one.closed, "1000 the run has ended");
    const last = one.received.filter(({ type }) => type === "stdout").at(-1);
    assert.deepEqual([last.at, last.text], [0, stdout.toString()]);
  });

  test("a program gets what a client sent before a message that is refused", LIMIT, async (t) => {
    const { submit, run, client } = await serving(t, { open, inProcess });
    const [bad, full] = [await submit(), await submit()];
    const lines = Array.from({ length: 50 }, (_, n) => bytes(`line ${n}\n`));
    const one = client(bad);
    await one.send(...lines.map((line) => (line.kind === "bytes" ? line.bytes : "")), "{", Buffer.from("after"));
    assert.equal(await one.closed, "1008 malformedJson");
    const first = await run();
    await first.gets(lines.length);
    assert.deepEqual(first.got, lines);
    const other = client(full);
    const pieces = Array.from({ length: 9 }, () => Buffer.alloc(30_000, "x"));
    await other.send(...pieces);
    assert.equal(await other.closed, "1008 inputFull");
    const second = await run();
    await second.gets(8);
    await sleep(50);
    assert.equal(second.got.length, 8);
  });

  test("a client that leaves does not end the run, and one that comes later gets what it missed", LIMIT, async (t) => {
    const { submit, run, client } = await serving(t, { open, inProcess });
    const id = await submit();
    const { write, claim, got, gets, finish } = await run();
    const first = client(id);
    write("one ");
    await first.until(() => first.output() === "one ");
    first.close();
    await first.closed;
    write("two ");
    const second = client(id, { after: first.last() });
    await second.until(() => second.output() === "two ");
    await second.send(Buffer.from("a"));
    await gets(1);
    assert.deepEqual(got, [bytes("a")]);
    assert.equal(claim.submission.id, id);
    await finish();
    assert.equal(await second.closed, "1000 the run has ended");
  });
});

test("a long record arrives as one message", LIMIT, async (t) => {
  const { submit, run, client } = await serving(t);
  const id = await submit();
  const one = client(id);
  const { finish } = await run();
  const [stdout, stderr] = [Buffer.alloc(1_048_576, "\u0001"), Buffer.alloc(1_048_576, "x")];
  await finish(buildOutcome({ execute: report({ stdout, stderr }) }));
  assert.equal(await one.closed, "1000 the run has ended");
  const { record } = one.received.at(-1);
  assert.deepEqual([record.output.stdout.length, record.output.stderr.length], [1_048_576, 1_048_576]);
});

test("a submission with live input is another request than one without", LIMIT, async (t) => {
  const { submit } = await startHttp(t);
  const headers = { "idempotency-key": "0f8fad5b-d9cb-469f-a165-70867728950e" };
  const ask = (body: object) => submit({ ...PROGRAM, ...body }, { headers });
  const { status, json } = await ask({ live_input: true });
  assert.equal(status, 202);
  assert.equal((await ask({ live_input: true })).json.id, json.id);
  assert.deepEqual([(await ask({})).status, (await ask({ live_input: false })).status], [422, 422]);
  const wrong = await submit({ ...PROGRAM, live_input: "yes" });
  assert.deepEqual([wrong.status, /^live_input: /.test(wrong.json.error)], [400, true]);
});

test("batches take submissions with live input, judgements do not", LIMIT, async (t) => {
  const { ask, store } = await startHttp(t);
  const one = { ...PROGRAM, live_input: true };
  const batch = await ask({ method: "POST", path: "/api/submissions/batch", body: [one, PROGRAM] });
  assert.equal(batch.status, 202);
  const claims = await store.submissions.claim("w", 60_000, 9);
  assert.deepEqual(
    claims.map(({ takesInput }: Claim) => takesInput),
    [true, false],
  );
  const body = { ...one, tests: [{ stdin: "", expected: "" }] };
  const judgement = await ask({ method: "POST", path: "/api/judgements", body });
  assert.deepEqual([judgement.status, /live_input/.test(judgement.json.error)], [400, true]);
});

test("what is no message closes the connection with the reason, and the run goes on", LIMIT, async (t) => {
  const { submit, run, client } = await serving(t);
  const id = await submit();
  const { got, claim, write } = await run();
  for (const [sent, error, closed] of [
    ["{", /not valid JSON/, "1008 malformedJson"],
    ['{"type":"input","input":"a","input":"b"}', /duplicate/, "1008 duplicateField"],
    [`{"type":"input","x":[${"[],".repeat(1_000)}[]]}`, /more than 512 values/, "1008 tooManyValues"],
    [{ type: "stop" }, /type|body/, "1008 invalidRequest"],
    [{ type: "signal", signal: "SIGXFSZ" }, /body|signal/, "1008 invalidRequest"],
    ['{"type":"input","input":"\\ud800"}', /surrogate/, "1008 notUnicode"],
    [Buffer.alloc(MAX_LIVE_INPUT.bytes + 1), /at most 262144 bytes/, "1008 inputFull"],
    [Buffer.alloc(2_100_000), undefined, "1009 "],
  ] as const) {
    const one = client(id);
    await one.send(sent);
    assert.equal(await one.closed, closed);
    if (!error) continue;
    const { type, error: text } = one.received.at(-1);
    assert.deepEqual([type, error.test(text)], ["error", true], text);
  }
  assert.deepEqual(got, []);
  const last = client(id);
  write("still here");
  await last.until(() => last.output() === "still here");
  assert.equal(claim.submission.id, id);
});

test("a submission without live input is followed, and refuses input", LIMIT, async (t) => {
  const { submit, run, client } = await serving(t);
  const id = await submit({ live_input: false, stream: true });
  const { write } = await run();
  const one = client(id);
  write("a");
  await one.until(() => one.output() === "a");
  await one.send(Buffer.from("input"));
  assert.equal(await one.closed, "1008 takesNoInput");
});

test("a connection is only for the account, its own pages, and while its key is valid", LIMIT, async (t) => {
  const { submit, run, client, ask, key, store, database, port } = await serving(t);
  const id = await submit();
  await run();
  await assert.rejects(client(id, { key: await key() }).opened, /404/);
  await assert.rejects(client(id, { key: "wrong" }).opened, /401/);
  await assert.rejects(client(id, { headers: { origin: "https://evil.example" } }).opened, /403/);
  await client(id, { headers: { origin: `https://127.0.0.1:${port}` } }).opened;
  const plain = await ask({ path: `/api/result/${id}/connect` });
  assert.deepEqual(
    [plain.status, plain.json.error, plain.headers.upgrade],
    [426, "open a WebSocket here", "websocket"],
  );
  assert.equal((await ask({ path: `/api/result/${id}/connect?after=x` })).status, 400);

  const own = await key({ account: "own" });
  const { json } = await ask({ method: "POST", path: "/api/submit", body: { ...PROGRAM, live_input: true }, key: own });
  const watching = client(json.id, { key: own });
  await watching.until(() => watching.received.length > 0);
  await revokeKey(store, own, "test");
  assert.equal(await watching.closed, "1008 unauthorized");
  const gone = client(id);
  await gone.until(() => gone.received.length > 0);
  await within(database, ({ db }) => db.deleteFrom("submissions").where("id", "=", id).execute());
  assert.equal(await gone.closed, "1008 submissionNotFound");
});

test("the WebSockets of an account are counted together, and freed when they close", LIMIT, async (t) => {
  const { submit, client, port, caPath, defaultKey } = await serving(t);
  const id = await submit();
  const pistons = Array.from({ length: 4 }, () => new PistonClient({ port, caPath, key: defaultKey }));
  t.after(() => {
    for (const one of pistons) one.close();
  });
  await Promise.all(pistons.map(({ opened }) => opened));
  const clients = Array.from({ length: 4 }, () => client(id));
  await Promise.all(clients.map(({ opened }) => opened));
  await assert.rejects(client(id).opened, /429/);
  clients[0]?.close();
  await clients[0]?.closed;
  for (const deadline = performance.now() + LIMIT.timeout; ; await sleep(10)) {
    if (
      await client(id).opened.then(
        () => true,
        () => false,
      )
    )
      break;
    assert.ok(performance.now() < deadline, "no place was freed");
  }
});

test("a stopping service closes the connections", LIMIT, async (t) => {
  const { submit, client, server } = await serving(t);
  const one = client(await submit());
  await one.until(() => one.received.length > 0);
  await server.close();
  assert.equal(await one.closed, "1001 the service stops");
});
