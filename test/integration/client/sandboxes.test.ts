import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENTS } from "../../support/client/drive.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

onEachDatabase((open) => {
  for (const [name, client] of Object.entries(CLIENTS)) {
    test(`${name}: creates, lists, changes, pauses and ends a sandbox, and executes in it`, async (t) => {
      const { port, caPath, key } = await startHttp(t, {
        open,
        holdMs: 200,
        sandboxesOver: (store) => new MemorySandboxes(store),
      });
      const agent = await key({ profiles: ["agent"] });
      const call = async (method: string, ...args: unknown[]) => {
        const { value, error } = await client.call({ port, caPath, key: agent, method, args });
        assert.equal(error, undefined, `${method}: ${error?.message}`);
        return value;
      };
      const { id } = await call("createSandbox", { metadata: { task: "1" } });
      assert.equal((await call("sandboxes", { metadata: "task=1" })).sandboxes[0].id, id);
      assert.equal((await call("changeSandbox", id, { idle_secs: 9 })).idle_secs, 9);
      const { result, output } = await call("execute", id, { shell: "echo hü" });
      assert.deepEqual([result.verdict, output.stdout], ["AC", "hü\n"]);
      const { number } = await call("startExecution", id, { shell: "cat", open_input: true });
      await call("sendExecutionInput", id, number, "typed");
      await call("signalExecution", id, number, "SIGINT");
      assert.equal((await call("killExecution", id, number)).output.stdout, "typedSIGINT\n");
      assert.deepEqual(await call("executionEvents", id, 1), [
        { type: "stdout", at: 0, text: "hü\n" },
        { type: "ended", execution: await call("execution", id, 1) },
      ]);
      assert.equal(Buffer.from((await call("executionStdout", id, 1)).base64, "base64").toString(), "hü\n");
      const terminal = await call("startExecution", id, { shell: "sleep", terminal: { rows: 1, cols: 2 } });
      await call("resizeTerminal", id, terminal.number, { rows: 3, cols: 4 });
      assert.equal((await call("executions", id, { limit: 2 })).executions.length, 2);
      await call("writeFile", id, "d/a", "text");
      assert.equal(Buffer.from((await call("readFile", id, "d/a")).base64, "base64").toString(), "text");
      assert.equal((await call("listFiles", id, { path: "d" })).entries[0].path, "/home/user/d/a");
      assert.equal((await call("moveFile", id, "d/a", "b")).path, "/home/user/b");
      assert.equal((await call("fileInfo", id, "b")).bytes, 4);
      assert.equal((await call("writeArchive", id, "d", "tar")).bytes, 3);
      await call("makeDirectory", id, "e");
      await call("removeFile", id, "b");
      const snapshot = await call("takeSnapshot", id, { name: "one" });
      assert.deepEqual([snapshot.name, snapshot.sandbox_id], ["one", id]);
      assert.deepEqual((await call("snapshots", { limit: 1 })).snapshots, [snapshot]);
      assert.deepEqual(await call("snapshot", snapshot.id), snapshot);
      assert.deepEqual(await call("deleteSnapshot", snapshot.id), snapshot);
      assert.equal((await call("pauseSandbox", id)).state, "paused");
      assert.equal((await call("resumeSandbox", id)).state, "running");
      assert.equal((await call("sandboxMetrics", id)).processes, 4);
      assert.equal((await call("networkOffer")).policy, "none");
      assert.deepEqual((await call("replaceNetwork", id, "none")).network, { version: 1, policy: "none" });
      assert.deepEqual(await call("sandboxEgress", id), { sandbox_id: id, egress: null });
      const samples = { options: { samples: true } };
      const measured = await client.call({
        port,
        caPath,
        key: agent,
        method: "sandboxMetrics",
        args: [id],
        ...samples,
      });
      assert.equal(measured.value.samples.length, 4);
      assert.equal((await call("endSandbox", id)).end_reason, "client");
      assert.equal((await call("sandbox", id)).state, "ended");
      assert.deepEqual((await call("sandboxMetrics", id)).cpu_time_secs, 3);
      const late = await client.call({ port, caPath, key: agent, method: "resumeSandbox", args: [id] });
      assert.deepEqual(
        [late.error?.status, late.error?.message],
        [410, "410: the sandbox has ended: a client ended it"],
      );
    });
  }
});
