import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { removeStaleSocket } from "../../../src/http/listener/stale-socket.ts";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "assay-stale-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return join(directory, "socket");
}

test("removes the socket of a killed process, so that another can listen", async (t) => {
  const path = place(t);
  const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`;
  const child = spawn(process.execPath, ["--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal(existsSync(path), true);
  await removeStaleSocket({ path });
  assert.equal(existsSync(path), false);
  await removeStaleSocket({ path });
});

test("keeps a socket in use, and a file that is not a socket", async (t) => {
  const path = place(t);
  const server = createServer().listen(path);
  await once(server, "listening");
  await removeStaleSocket({ path });
  assert.equal(existsSync(path), true);
  server.close();
  writeFileSync(path, "kept");
  await removeStaleSocket({ path });
  assert.equal(existsSync(path), true);
});
