import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { RunClient } from "../../support/http/run-client.ts";
import { useProduct } from "../../support/programs/product.ts";
import { ROOT } from "../../support/repo/documents.ts";

const LIMIT = { timeout: 60_000 };
const ECHO = "while True:\n    try:\n        print('got', input(), flush=True)\n    except EOFError:\n        break\n";

/** On SQLite, the conversation is in the memory of the service; on PostgreSQL, it goes through the database. */
for (const database of ["sqlite", "postgres"] as const)
  describe(`on ${database}`, () => {
    const product = useProduct({ database });

    const client = (t: TestContext, id: string, after?: string) => {
      const { service, data, key } = product();
      const caPath = join(data, "tls", "server.pem");
      const made = new RunClient({ port: service.port, caPath, key, id, ...(after !== undefined && { after }) });
      t.after(() => made.close());
      return made;
    };
    const submit = async (language: string, code: string, more: object = {}) => {
      const { status, json } = await product().ask("POST", "/api/submit", {
        language,
        code,
        live_input: true,
        ...more,
      });
      assert.equal(status, 202, JSON.stringify(json));
      return (json as { id: string }).id;
    };
    const post = async (id: string, path: string, body?: object) =>
      (await product().ask("POST", `/api/result/${id}/${path}`, body)).status;

    test("clients talk with a program by a WebSocket and by requests, and see the same log", LIMIT, async (t) => {
      const id = await submit("python", ECHO, { stdin: "first\n" });
      const one = client(t, id);
      await one.until(() => one.output() === "got first\n");
      await one.send(Buffer.from("sec"));
      await one.send({ type: "input", input: "ond\n" });
      await one.until(() => one.output().endsWith("got second\n"));
      assert.equal(await post(id, "input", { input: "third\n" }), 202);
      await one.until(() => one.output().endsWith("got third\n"));
      const mark = one.last();
      const late = client(t, id);
      await late.until(() => late.output() === one.output());
      assert.equal(await post(id, "input", { input: "last\n" }), 202);
      assert.equal(await post(id, "input/end"), 202);
      for (const each of [one, late]) assert.equal(await each.closed, "1000 the run has ended");
      const { record } = one.received.at(-1);
      assert.deepEqual(
        [record.result.verdict, record.output.stdout],
        ["AC", "got first\ngot second\ngot third\ngot last\n"],
      );
      assert.equal(await post(id, "input", { input: "late\n" }), 409);
      assert.equal(await client(t, id, mark).closed, "1000 the run has ended");
    });

    test("a client that comes back continues where it was, and the program has waited", LIMIT, async (t) => {
      const id = await submit("python", ECHO);
      const first = client(t, id);
      await first.send(Buffer.from("a\n"));
      await first.until(() => first.output() === "got a\n");
      first.close();
      await first.closed;
      assert.equal(await post(id, "input", { input: "b\n" }), 202);
      const second = client(t, id, first.last());
      await second.until(() => second.output() === "got b\n");
      await second.send({ type: "end" });
      assert.equal(await second.closed, "1000 the run has ended");
    });

    test("the documented client connects a terminal with a program", LIMIT, async () => {
      const { service, data, key } = product();
      const id = await submit("python", `${ECHO}print('\\x1b[2J')\n`);
      const env = {
        ...process.env,
        ASSAY_URL: `https://localhost:${service.port}`,
        ASSAY_KEY: key,
        NODE_EXTRA_CA_CERTS: join(data, "tls", "server.pem"),
      };
      const child = spawn(process.execPath, [join(ROOT, "docs/talk.mjs"), id], { env });
      const heard = { stdout: "", stderr: "" };
      for (const stream of ["stdout", "stderr"] as const)
        child[stream].setEncoding("utf8").on("data", (text: string) => {
          heard[stream] += text;
        });
      child.stdin.write("a\n");
      while (heard.stdout !== "got a\n") await sleep(5);
      child.stdin.end("b\n");
      assert.deepEqual(await once(child, "close"), [0, null], heard.stderr);
      assert.deepEqual(heard, { stdout: "got a\ngot b\n\ufffd[2J\n", stderr: "verdict: AC\n" });
    });

    test("a compiled program gets a signal, which ends it", LIMIT, async (t) => {
      const code =
        '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("up"); fflush(stdout); for (;;) pause(); }';
      const id = await submit("c", code);
      const one = client(t, id);
      await one.until(() => one.output() === "up\n");
      await one.send({ type: "signal", signal: "SIGTERM" });
      assert.equal(await one.closed, "1000 the run has ended");
      const { result } = one.received.at(-1).record;
      assert.deepEqual(
        [result.verdict, result.signal, result.error_message],
        ["SIG", 15, "killed by signal 15 (SIGTERM), which the client sent"],
      );
    });

    test("many small messages at once arrive in their order", LIMIT, async (t) => {
      const id = await submit("python", "for _ in range(3000): print(input())");
      const one = client(t, id);
      const lines = Array.from({ length: 3_000 }, (_, n) => `${n}\n`);
      await one.send(...lines.map((line) => Buffer.from(line)));
      assert.equal(await one.closed, "1000 the run has ended");
      assert.equal(one.received.at(-1).record.output.stdout, lines.join(""));
    });

    test("a cancelled run ends for its clients", LIMIT, async (t) => {
      const id = await submit("python", "import time\nprint('up', flush=True)\ntime.sleep(9)");
      const one = client(t, id);
      await one.until(() => one.output() === "up\n");
      await product().ask("POST", `/api/result/${id}/cancel`);
      assert.equal(await one.closed, "1000 the run has ended");
      assert.equal(one.received.at(-1).record.result.cause, "cancelled");
    });
  });
