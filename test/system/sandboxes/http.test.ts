import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { CLIENTS } from "../../support/client/drive.ts";
import { type Ask, type Running, startHttp } from "../../support/http/running.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { ROOT } from "../../support/repo/documents.ts";
import { keeperOf } from "../../support/sandboxes/keeper.ts";
import { type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";
import { someLanguages } from "../../support/worker/some-languages.ts";

const MIB = 1_048_576;
/** A language that the tests of requests offer, see startHttp(). */
const LANGUAGES = ["python", "c"];

let launcher: Launcher;

before(async () => {
  launcher = await startLauncher({ sandboxes: 4, sandboxMemory: 2048 * MIB });
});

after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

interface Service extends Running {
  readonly agent: string;
  readonly send: (ask: Ask) => ReturnType<Running["ask"]>;
  /** The path of a new sandbox. */
  readonly create: (body?: object) => Promise<string>;
}

/** The real server, with sandboxes of the real launcher. */
async function start(t: TestContext, open: OpenTemporary = temporaryStore): Promise<Service> {
  const running = await startHttp(t, {
    open,
    sandboxesOver: (store) =>
      keeperOf(t, {
        store,
        engine: sandboxesOf(launcher.socket),
        languages: someLanguages(LANGUAGES),
        capacity: { sandboxes: 4, memoryBytes: 2048 * MIB, cpus: 2, diskBytes: 0, network: false },
      }),
  });
  const agent = await running.key({ profiles: ["agent"] });
  const send = (ask: Ask) => running.ask({ key: agent, ...ask });
  const create = async (body: object = {}) => {
    const { status, json, text } = await send({ method: "POST", path: "/api/sandboxes", body });
    assert.equal(status, 201, text);
    return `/api/sandboxes/${json.id}`;
  };
  return { ...running, agent, send, create };
}

onEachDatabase((open) => {
  test("state stays between executions, each of which has a verdict and evidence", async (t) => {
    const { send, create } = await start(t, open);
    const path = await create();
    const run = async (body: object) => {
      const { status, json, text } = await send({ method: "POST", path: `${path}/executions`, body });
      assert.equal(status, 200, text);
      return json;
    };
    const first = await run({ shell: "echo kept > note; pwd; whoami" });
    assert.deepEqual([first.result.verdict, first.output.stdout], ["AC", "/home/user\nuser\n"]);
    const left = { shell: "sleep 100 >/dev/null 2>&1 &", background: true };
    assert.equal((await send({ method: "POST", path: `${path}/executions`, body: left })).status, 201);
    assert.equal((await send({ path: `${path}/executions/2?wait=true` })).json.processes_left, 1);
    assert.ok(first.evidence.isolation.controls_applied.length > 5);
    assert.equal((await run({ argv: ["cat", "note"] })).output.stdout, "kept\n");
    assert.equal((await run({ code: "print(6 * 7)", language: "python" })).output.stdout, "42\n");
    assert.equal((await run({ shell: "exit 3" })).result.exit_code, 3);
    assert.equal((await run({ shell: "cat; echo $A", stdin: "in ", env: { A: "env" } })).output.stdout, "in env\n");
    const endless = await run({ shell: "while :; do :; done", limits: { cpu_time_secs: 0.2 } });
    assert.equal(endless.result.verdict, "TLE");
    assert.equal((await run({ argv: ["no-such-program"] })).result.verdict, "RE");
    const ended = await send({ method: "DELETE", path });
    assert.deepEqual([ended.json.end_reason, ended.json.evidence.teardown.cleanup_verified], ["client", true]);
    assert.equal((await send({ path: `${path}/executions/3` })).json.output.stdout, "kept\n");
  });
});

// The tests from here on are on SQLite only: they are about bytes, terminals and programs, of which the database has at most the record.

test("a terminal answers what is typed on the WebSocket", async (t) => {
  const { send, create, agent, port, caPath } = await start(t);
  const path = `${await create()}/executions`;
  const body = { argv: ["/bin/bash", "--norc"], terminal: { rows: 24, cols: 80 }, env: { PS1: "% " } };
  const { json } = await send({ method: "POST", path, body });
  const socket = new WebSocket(`wss://localhost:${port}${path}/${json.number}/attach`, {
    headers: { "x-api-key": agent },
    ca: readFileSync(caPath),
  });
  let output = "";
  const ended = Promise.withResolvers<{ result: { exit_code: number } }>();
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) output += data.subarray(1).toString();
    else {
      const message = JSON.parse(data.toString());
      if (message.type === "ended") ended.resolve(message.execution);
      if (message.type === "error") ended.reject(new Error(message.error));
    }
  });
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "resize", rows: 33, cols: 99 }));
  socket.send(Buffer.from("stty size; test -t 0 && echo a terminal; exit 4\r"));
  assert.equal((await ended.promise).result.exit_code, 4);
  assert.match(output, /33 99\r\n/);
  assert.match(output, /a terminal\r\n/);
});

test("files pass through byte for byte, with constant memory", async (t) => {
  const { send, create, agent, port, caPath } = await start(t);
  const files = `${await create({ limits: { memory_bytes: 512 * MIB, disk_bytes: 256 * MIB } })}/files`;
  const bytes = randomBytes(3 * MIB);
  const written = await send({ method: "PUT", path: `${files}?path=d/a&parents=true&mode=700`, body: bytes });
  assert.deepEqual([written.status, written.json.bytes, written.json.mode], [200, bytes.length, 0o700], written.text);
  const part = await send({ path: `${files}?path=d/a`, headers: { range: "bytes=10-19" } });
  assert.deepEqual([part.status, Number(part.headers["content-length"])], [206, 10]);
  assert.equal(
    (await send({ path: `${files}?path=d/a`, headers: { "if-none-match": written.headers.etag ?? "" } })).status,
    304,
  );
  assert.equal(
    (await send({ method: "PUT", path: `${files}?path=d/a`, body: bytes, headers: { "if-match": '"0"' } })).status,
    412,
  );
  // 100 MiB up and down: this process, which has the client and the service, must not have as much memory more.
  const size = 100 * MIB;
  const chunk = randomBytes(MIB);
  const headers = { "x-api-key": agent };
  const of = { port, host: "127.0.0.1", ca: readFileSync(caPath), servername: "localhost", agent: false as const };
  const upload = request({
    ...of,
    method: "PUT",
    path: `${files}?path=big`,
    headers: { ...headers, "content-length": size },
  });
  const uploaded = once(upload, "response");
  let most = 0;
  const watch = () => {
    most = Math.max(most, process.memoryUsage().rss);
  };
  const before = process.memoryUsage().rss;
  for (let at = 0; at < size; at += chunk.length) {
    if (!upload.write(chunk)) await once(upload, "drain");
    watch();
  }
  upload.end();
  assert.equal((await uploaded)[0].resume().statusCode, 200);
  const download = request({ ...of, path: `${files}?path=big`, headers }).end();
  const [response] = await once(download, "response");
  let got = 0;
  for await (const piece of response) {
    assert.ok(piece.equals(chunk.subarray(got % MIB, (got % MIB) + piece.length)) || piece.length > MIB - (got % MIB));
    got += piece.length;
    watch();
  }
  assert.equal(got, size);
  assert.ok(most - before < size, `${most - before} bytes more`);
  const outside = await send({ path: `${files}?path=${encodeURIComponent("../../../../etc/shadow")}` });
  assert.ok([403, 404].includes(outside.status), outside.text);
});

for (const [name, client] of Object.entries(CLIENTS)) {
  test(`${name}: uses a real sandbox`, async (t) => {
    const { port, caPath, agent } = await start(t);
    const call = async (method: string, ...args: unknown[]) => {
      const { value, error } = await client.call({ port, caPath, key: agent, method, args });
      assert.equal(error, undefined, `${method}: ${error?.message}`);
      return value;
    };
    const { id } = await call("createSandbox");
    await call("writeFile", id, "main.py", "print(input() + '!')\n");
    const { result, output } = await call("execute", id, { argv: ["python3", "main.py"], stdin: "hü\n" });
    assert.deepEqual([result.verdict, output.stdout], ["AC", "hü!\n"]);
    assert.deepEqual(
      (await call("listFiles", id)).entries
        .filter((one: { path: string }) => !/\/\./.test(one.path))
        .map(({ path }: { path: string }) => path),
      ["/home/user/main.py"],
    );
    assert.equal((await call("endSandbox", id)).evidence.teardown.cleanup_verified, true);
  });
}

test("the command line runs, copies, lists and ends", async (t) => {
  const { port, caPath, agent } = await start(t);
  const env = { ...process.env, ASSAY_URL: `https://localhost:${port}`, ASSAY_KEY: agent, ASSAY_CA: caPath };
  const sandbox = (args: readonly string[], input = "") =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const argv = [join(ROOT, "src/main.ts"), "sandbox", ...args];
      const child = execFile(process.execPath, argv, { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
      );
      child.stdin?.end(input);
    });
  const once = await sandbox(["run", "--", "cat; echo $HOME; exit 5"], "typed ");
  assert.deepEqual([once.code, once.stdout], [5, "typed /home/user\n"], once.stderr);
  const { stdout } = await sandbox(["create", "--metadata", "task=7"]);
  const id = stdout.trim();
  const directory = mkdtempSync(join(tmpdir(), "assay-copy-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const local = join(directory, "local");
  writeFileSync(local, "copied", { mode: 0o755 });
  assert.equal((await sandbox(["cp", local, `${id}:there`])).code, 0);
  const ran = await sandbox(["run", "--sandbox", id, "--", "stat", "-c", "%a %s", "there"]);
  assert.equal(ran.stdout, "755 6\n", ran.stderr);
  assert.equal((await sandbox(["cp", directory, `${id}:tree`])).code, 0);
  assert.equal((await sandbox(["cp", `${id}:tree`, join(directory, "back")])).code, 0);
  assert.equal(readFileSync(join(directory, "back/local"), "utf8"), "copied");
  assert.match((await sandbox(["list"])).stdout, new RegExp(`^${id}  running  -  \\S+  task=7\n$`));
  assert.equal((await sandbox(["end", id])).code, 0);
  assert.equal((await sandbox(["list"])).stdout, "");
  const gone = await sandbox(["run", "--sandbox", id, "--", "true"]);
  assert.deepEqual([gone.code, gone.stderr], [1, "assay: 410: the sandbox has ended: a client ended it\n"]);
  // A shell needs a terminal, which script(1) makes.
  const shell = spawn(
    "script",
    ["-qec", `${process.execPath} ${join(ROOT, "src/main.ts")} sandbox shell`, join(directory, "log")],
    { env },
  );
  let seen = "";
  shell.stdout.on("data", (text: Buffer) => {
    seen += text;
    if (/\$ $/.test(seen)) shell.stdin.write("echo in the $USER terminal; exit 6\r");
  });
  assert.equal(await new Promise<number>((resolve) => shell.on("close", resolve)), 6, seen);
  assert.match(seen, /in the user terminal/);
});
