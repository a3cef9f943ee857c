import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

const PROGRAM = `
import { spawn } from "node:child_process";
import { endTogether } from ${JSON.stringify(new URL("../../../bench/end-together.ts", import.meta.url).href)};
endTogether();
spawn("sh", ["-c", "sleep 600 & echo started; wait"], { stdio: ["ignore", "inherit", "inherit"] });
setInterval(() => {}, 1_000);
`;

test("what a bench has started ends with it, if it alone gets a signal", { timeout: 30_000 }, async (t) => {
  const args = ["--input-type=module", "--eval", PROGRAM];
  // In a group of its own, as the set-up starts it.
  const bench = spawn(process.execPath, args, { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const { pid = assert.fail() } = bench;
  const exited = once(bench, "exit");
  t.after(() => {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // nothing is left of the group
    }
  });
  await once(bench.stdout, "data");
  // The output ends when the last process that holds it has ended.
  const allEnded = once(bench.stdout.resume(), "end");
  bench.kill("SIGTERM");
  assert.deepEqual(await exited, [null, "SIGTERM"]);
  await allEnded;
});
