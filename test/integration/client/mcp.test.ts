import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { startHttp } from "../../support/http/running.ts";
import { ROOT } from "../../support/repo/documents.ts";

/** test/system/mcp/ has the official client over this command; this file has what that client never sends. */
const LIMIT = { timeout: 30_000 };
const COMMAND = join(ROOT, "client/typescript/src/mcp.ts");
const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const call = (args: object) => ({
  ...{ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "run_code", arguments: args } },
});

function start(t: TestContext, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [COMMAND], { env: { PATH: process.env.PATH, ...env } });
  t.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  const closed = once(child, "close");
  const write = (line: unknown) => child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  const read = async () => JSON.parse((await lines.next()).value ?? "null");
  const ask = (line: unknown) => {
    write(line);
    return read();
  };
  const ended = async () => ({ code: (await closed)[0], stderr });
  return { child, write, ask, ended };
}

async function serving(t: TestContext) {
  const running = await startHttp(t, { holdMs: 50 });
  const env = {
    ...{ ASSAY_URL: `https://localhost:${running.port}/`, ASSAY_KEY: await running.key(), ASSAY_CA: running.caPath },
  };
  return { ...running, env };
}

test("lines that are no message get an error, and the next line is read", LIMIT, async (t) => {
  const { ask, write, child, ended } = start(t, (await serving(t)).env);
  assert.deepEqual((await ask("{nope")).error, { code: -32_700, message: "the line is not JSON" });
  assert.equal((await ask([list, list])).error.code, -32_600);
  assert.equal((await ask({ ...list, method: "nope" })).error.code, -32_601);
  // Without answers: an empty line, a notification, an answer, and the end of a call that does not exist.
  write("");
  write({ jsonrpc: "2.0", method: "notifications/initialized" });
  write({ jsonrpc: "2.0", id: 5, result: {} });
  write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } });
  const { id, result } = await ask({ ...list, id: "text" });
  assert.deepEqual([id, result.tools.length], ["text", 4]);
  child.stdin.end();
  assert.deepEqual(await ended(), { code: 0, stderr: "" });
});

test("a refusal of the service is the result of the tool, and an error of other requests", LIMIT, async (t) => {
  const { env, key } = await serving(t);
  const large = { language: "c", code: "x", stdin: "x".repeat(4_300_000) };
  const { ask } = start(t, env);
  const { id, result } = await ask(call(large));
  assert.deepEqual([id, result.isError], [7, true]);
  assert.equal(result.content[0].text, "413: request body must be at most 4194304 bytes");
  // The service has not read the id of this one.
  const { error } = await ask({ ...list, params: { cursor: "x".repeat(5_000) } });
  assert.match(error.message, /^400: the body: more than 4096 characters besides the arguments/);
  const few = start(t, { ...env, ASSAY_KEY: await key({ requestsPerMinute: 1 }) });
  assert.equal((await few.ask(list)).result.tools.length, 4);
  assert.match((await few.ask(list)).error.message, /^429: API key quota exceeded; retry in \d+ s$/);
  assert.match(
    (await few.ask(call({ language: "c", code: "x" }))).result.content[0].text,
    /^API key quota exc.* in \d+ s$/,
  );
  assert.match((await few.ask(call(large))).result.content[0].text, /^429: API key quota exceeded; retry in \d+ s$/);
});

test("names a service that it cannot reach or trust, and the variable that is wrong", LIMIT, async (t) => {
  const { env } = await serving(t);
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address() as AddressInfo;
  free.close();
  const away = start(t, { ...env, ASSAY_URL: `https://127.0.0.1:${port}` });
  assert.match((await away.ask(list)).error.message, /^no answer from https:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  assert.equal((await away.ask(call({}))).result.isError, true);
  const { ASSAY_CA: _, ...untrusting } = env;
  assert.match((await start(t, untrusting).ask(list)).error.message, /^no answer from https:\S+: .*self-signed/);
  const refused = async (more: NodeJS.ProcessEnv, expected: RegExp) => {
    const { code, stderr } = await start(t, { ...env, ...more }).ended();
    assert.equal(code, 2);
    assert.match(stderr, expected);
  };
  await refused({ ASSAY_KEY: "" }, /^assay-mcp: set ASSAY_URL and ASSAY_KEY/);
  await refused({ ASSAY_URL: "nowhere" }, /^assay-mcp: ASSAY_URL is not a URL: nowhere$/m);
  await refused({ ASSAY_CA: "/nowhere.pem" }, /^assay-mcp: ASSAY_CA: ENOENT/);
});

test("forwards each progress at once, and forgets a cancelled call", LIMIT, async (t) => {
  const running = await startHttp(t, { holdMs: 20_000 });
  const env = {
    ASSAY_URL: `https://localhost:${running.port}`,
    ASSAY_KEY: await running.key(),
    ASSAY_CA: running.caPath,
  };
  const { ask, write } = start(t, env);
  const waiting = call({ language: "c", code: "x" });
  const progress = await ask({ ...waiting, params: { ...waiting.params, _meta: { progressToken: "p" } } });
  assert.deepEqual([progress.method, progress.params.progressToken], ["notifications/progress", "p"]);
  write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
  assert.equal((await ask(list)).id, 1, "there is no answer to the cancelled call");
});
