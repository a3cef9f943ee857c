import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { WAYS } from "../../support/mcp/clients.ts";
import { useProduct } from "../../support/programs/product.ts";

const LIMIT = { timeout: 120_000 };
const product = useProduct({ sandboxes: 8 });

for (const way of ["HTTP with a handshake", "stdio without a handshake"]) {
  test(`${way}: a model works in a real sandbox, talks with a program, and returns to a snapshot`, LIMIT, async (t) => {
    const { service, key, data } = product();
    const connect = WAYS[way];
    assert.ok(connect);
    const where = { url: `https://127.0.0.1:${service.port}`, key, caPath: join(data, "tls", "server.pem") };
    const { call } = await connect(t, where);
    const metadata = { way };
    const { sandbox_id } = (await call("sandbox_create", { metadata })).structuredContent;
    const of = async (name: string, args: object = {}, sandbox = sandbox_id) => {
      const { structuredContent, isError, text } = await call(`sandbox_${name}`, { sandbox_id: sandbox, ...args });
      assert.ok(!isError, text);
      return structuredContent;
    };
    const { sandboxes } = (await call("sandbox_list", { metadata, state: "running" })).structuredContent;
    assert.deepEqual(
      sandboxes.map((one: { sandbox_id: string }) => one.sandbox_id),
      [sandbox_id],
    );
    const copier = await of("run", { shell: "cat > heard; echo done", open_input: true, background: true });
    assert.deepEqual([copier.number, copier.status], [1, "running"]);
    await of("input", { number: 1, text: "one\n" });
    await of("input", { number: 1, text: "two\n", end: true });
    const { execution } = await of("result", { number: 1 });
    assert.deepEqual([execution.verdict, execution.stdout.text], ["AC", "done\n"]);
    assert.equal((await of("read_file", { path: "heard" })).text, "one\ntwo\n");
    const { snapshot_id, files } = await of("snapshot", { name: "heard" });
    assert.ok(files > 0);
    await of("run", { shell: "rm heard" });
    const second = (await call("sandbox_create", { from: snapshot_id })).structuredContent.sandbox_id;
    assert.equal((await of("read_file", { path: "heard" }, second)).text, "one\ntwo\n");
    const trapping = "trap 'echo heard a signal; exit 3' INT; touch begun; while :; do sleep 0.1; done";
    const trapped = (await of("run", { shell: trapping, background: true })).number;
    while (!(await of("list_files")).entries.some(({ path }: { path: string }) => path.endsWith("/begun")));
    await of("kill", { number: trapped, signal: "SIGINT" });
    const heard = (await of("result", { number: trapped })).execution;
    assert.deepEqual([heard.verdict, heard.exit_code, heard.stdout.text], ["RE", 3, "heard a signal\n"]);
    const endless = (await of("run", { shell: "sleep 1000", background: true })).number;
    assert.equal((await of("kill", { number: endless })).status, "completed");
    assert.equal((await of("pause")).state, "paused");
    assert.match((await call("sandbox_run", { sandbox_id, shell: "true" })).text, /paused/);
    assert.equal((await of("resume")).state, "running");
    for (const one of [sandbox_id, second]) assert.equal((await of("end", {}, one)).cleanup_verified, true);
  });
}
