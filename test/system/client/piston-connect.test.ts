import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";
import { PistonClient } from "../../support/http/piston-client.ts";
import { useProduct } from "../../support/programs/product.ts";

const LIMIT = { timeout: 60_000 };
const product = useProduct();

class Client extends PistonClient {
  constructor({ key = product().key, ...more }: { readonly key?: string; readonly path?: string } = {}) {
    const { service, data } = product();
    super({ port: service.port, caPath: join(data, "tls", "server.pem"), key, ...more });
  }
}

async function recordOf(client: Client) {
  const { json } = await product().ask("GET", `/api/result/${client.received[0]?.assay_id}`);
  return json as { status: string; result: { verdict: string; cause: string; error_message: string | null } };
}

const ECHO = "while True:\n    try:\n        print('got', input(), flush=True)\n    except EOFError:\n        break\n";

test("a client talks with a program, which gets input before and while it runs", LIMIT, async () => {
  const client = new Client();
  await client.init("python", `${ECHO.replace("break", "raise SystemExit(3)")}`, {
    stdin: "first\n",
    run_timeout: 10_000,
  });
  await client.until(() => client.output() === "got first\n");
  await client.input("second\nthi");
  await client.until(() => client.output().endsWith("got second\n"));
  await client.input("rd\n");
  await client.until(() => client.output().endsWith("got third\n"));
  await client.send({ type: "signal", signal: "SIGTERM" });
  assert.equal(await client.closed, "4999 Job Completed");
  const [{ type, language, version } = { type: "" }, ...rest] = client.others();
  assert.deepEqual([type, language], ["runtime", "python"]);
  assert.match(String(version), /^3\.\d+\.\d+$/);
  assert.deepEqual(rest, [
    { type: "stage", stage: "run" },
    { type: "exit", stage: "run", code: null, signal: "SIGTERM" },
  ]);
  const { result } = await recordOf(client);
  assert.deepEqual(
    [result.verdict, result.error_message],
    ["SIG", "killed by signal 15 (SIGTERM), which the client sent"],
  );
});

test("stages of a compiled program, before it reads its input", LIMIT, async () => {
  const client = new Client();
  await client.init(
    "c",
    '#include <stdio.h>\nint main(void) { char s[9]; scanf("%8s", s); printf("<%s>", s); return 7; }',
  );
  await client.until(() => client.others().some(({ type, stage }) => type === "stage" && stage === "run"));
  await client.input("abc\n");
  assert.equal(await client.closed, "4999 Job Completed");
  assert.equal(client.output(), "<abc>");
  assert.deepEqual(client.others().slice(1), [
    { type: "stage", stage: "compile" },
    { type: "exit", stage: "compile", code: 0, signal: null },
    { type: "stage", stage: "run" },
    { type: "exit", stage: "run", code: 7, signal: null },
  ]);
});

test("a program that does not compile, and one without input that ends at once", LIMIT, async () => {
  const broken = new Client();
  await broken.init("c", "int main(void) { return x; }");
  assert.equal(await broken.closed, "4999 Job Completed");
  assert.match(broken.output("stderr"), /error: .x. undeclared/);
  const [, ...messages] = broken.others();
  assert.deepEqual(messages, [
    { type: "stage", stage: "compile" },
    { type: "exit", stage: "compile", code: 1, signal: null },
  ]);
  const large = new Client();
  await large.init("python", "import sys\nprint('\u{1f600}' * 50_000)\nprint('e', file=sys.stderr)");
  assert.equal(await large.closed, "4999 Job Completed");
  assert.deepEqual([large.output(), large.output("stderr")], [`${"\u{1f600}".repeat(50_000)}\n`, "e\n"]);
});

test("many small messages at once arrive in their order", LIMIT, async () => {
  const client = new Client();
  const lines = Array.from({ length: 3_000 }, (_, n) => `${n}\n`);
  await client.init("python", "for _ in range(3000): print(input())", { run_timeout: 10_000 });
  await Promise.all(lines.map((line) => client.input(line)));
  assert.equal(await client.closed, "4999 Job Completed");
  assert.equal(client.output(), lines.join(""));
});

test("a program whose client leaves is cancelled", LIMIT, async () => {
  const client = new Client();
  await client.init("python", "import time\nprint('up', flush=True)\ntime.sleep(9)");
  await client.until(() => client.output() === "up\n");
  client.close();
  for (const until = performance.now() + 5_000; ; ) {
    const { status, result } = await recordOf(client);
    if (status === "error") {
      assert.equal(result.cause, "cancelled");
      return;
    }
    assert.ok(performance.now() < until, status);
    await sleep(20);
  }
});

const CLOSES: Readonly<Record<string, readonly [string, ...(object | string)[]]>> = {
  "input before the program": ["4003 Not yet initialized", { type: "data", stream: "stdin", data: "a" }],
  "a signal before the program": ["4003 Not yet initialized", { type: "signal", signal: "SIGTERM" }],
  "no JSON": ["4002 Notified Error", "{"],
  "an unknown type": ["4002 Notified Error", { type: "stop" }],
  "an unknown language": [
    "4002 Notified Error",
    { type: "init", language: "x", version: "*", files: [{ content: "a" }] },
  ],
  "no files": ["4002 Notified Error", { type: "init", language: "python", version: "*" }],
  "a path out of the box": [
    "4002 Notified Error",
    { type: "init", language: "python", version: "*", files: [{ name: "../a", content: "a" }] },
  ],
  "too large a message": ["1009 ", `{"type":"init","x":"${"x".repeat(2_200_000)}"}`],
};

for (const [name, [expected, ...messages]] of Object.entries(CLOSES)) {
  test(`${name} closes the connection`, LIMIT, async () => {
    const client = new Client();
    await client.send(...messages);
    assert.equal(await client.closed, expected);
    assert.equal(client.received.length, expected.startsWith("4002") ? 1 : 0);
  });
}

test("a client that goes on with a message that is too large is disconnected", LIMIT, async (t) => {
  const { service, data, key } = product();
  const ca = readFileSync(join(data, "tls", "server.pem"));
  const options = { port: service.port, host: "127.0.0.1", ca, allowHalfOpen: true };
  const socket = connect(options);
  socket.on("error", () => {});
  const headers = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${"A".repeat(22)}==`;
  socket.write(`GET /piston/api/v2/connect HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${key}\r\n${headers}\r\n\r\n`);
  const [answer] = await once(socket, "data");
  assert.match(String(answer), /^HTTP\/1\.1 101 /);
  const [text, masked, size] = [0x81, 0xff, [0, 0, 0x10, 0, 0, 0, 0, 0]];
  socket.write(Buffer.from([text, masked, ...size, 1, 2, 3, 4]));
  const piece = Buffer.alloc(1_048_576);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  while (!socket.destroyed && socket.bytesWritten < 256 * piece.length)
    if (!socket.write(piece)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
  t.diagnostic(`${socket.bytesWritten >> 20} MiB`);
  assert.ok(socket.destroyed, "it took 256 MiB");
});

const WAITS = "import time\nprint('up', flush=True)\ntime.sleep(9)";
const WRONG: Readonly<Record<string, readonly [string, object]>> = {
  "a second program": ["4000 Already Initialized", { type: "init", language: "python", version: "*", files: [] }],
  "input to stdout": ["4004 Can only write to stdin", { type: "data", stream: "stdout", data: "a" }],
  "an unknown signal": ["4005 Invalid signal", { type: "signal", signal: "SIGNOPE" }],
  "a signal of a limit": ["4005 Invalid signal", { type: "signal", signal: "SIGXFSZ" }],
  "more input than fits": ["4002 Notified Error", { type: "data", stream: "stdin", data: "x".repeat(300_000) }],
};

for (const [name, [expected, message]] of Object.entries(WRONG)) {
  test(`${name} ends a program that runs`, LIMIT, async () => {
    const client = new Client();
    await client.init("python", WAITS);
    await client.until(() => client.output() === "up\n");
    await client.send(message);
    assert.equal(await client.closed, expected);
  });
}

test("a wrong key, a plain request and another path get an answer of HTTP", LIMIT, async () => {
  await assert.rejects(new Client({ key: "assay_live_wrong" }).opened, /401/);
  await assert.rejects(new Client({ path: "/piston/api/v2/nothing" }).opened, /404/);
  await assert.rejects(new Client({ path: "/api/languages" }).opened, /200|401/);
  const { status } = await product().ask("GET", "/piston/api/v2/connect");
  assert.equal(status, 426);
});

test("an account can have a limited number of connections, and each counts against its rate limit", LIMIT, async () => {
  const clients = Array.from({ length: 9 }, () => new Client());
  const opened = await Promise.allSettled(clients.map((client) => client.opened));
  assert.equal(opened.filter(({ status }) => status === "fulfilled").length, 8);
  for (const client of clients) client.close();
});
