import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { shell as service } from "./service-shell.ts";

const NOBODY = 65_534;
const setup = resolve(import.meta.dirname, "../../../setup");

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "assay-others-"));
  t.after(() => rmSync(path, { recursive: true }));
  chmodSync(path, 0o755); // accessible to other users
  return path;
}

/** Runs a line of shell with parts of set-up. */
function shell(parts: readonly string[], line: string, env: Record<string, string>): string {
  const sourced = parts.map((part) => `. ${setup}/${part}.sh`).join("\n");
  return execFileSync("sh", ["-euc", `checkout=${resolve(setup, "..")}\n${sourced}\n${line}`], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
}

for (const [name, line] of [
  ["lock", "lock_set_up"],
  ["serve.lock", "take_serving"],
] as const)
  test(`another user of the machine cannot hold ${name}, even if an older version created it`, (t) => {
    const data = directory(t);
    const lock = join(data, name);
    writeFileSync(lock, "", { mode: 0o644 });
    const others = () =>
      spawnSync("flock", ["--nonblock", lock, "true"], { uid: NOBODY, gid: NOBODY, encoding: "utf8" });
    assert.equal(others().status, 0, "a file that is open for reading can be locked");
    shell(["log", "step", "data-dir", "instance"], line, { data });
    assert.equal(statSync(lock).mode & 0o777, 0o600);
    assert.match(others().stderr, /Permission denied/);
    rmSync(lock);
    shell(["log", "step", "data-dir", "instance"], line, { data });
    assert.match(others().stderr, /Permission denied/);
  });

test("each process of a command has a session of its own, without the terminal", () => {
  const session = (text: string) => /^\d+ \(.*\) \S \d+ \d+ (\d+) 0 /s.exec(text)?.[1] ?? assert.fail(text);
  const supervise = (user: string) => `run_processes --process test ${user} --run 2 cat /proc/self/stat`;
  const sessions = ["", '--user "$(user_ids)"'].map((user) => session(service(supervise(user)).stdout));
  const own = /^\d+ \(.*\) \S \d+ \d+ (\d+)/s.exec(readFileSync("/proc/self/stat", "utf8"))?.[1];
  assert.equal(new Set([own, ...sessions]).size, 3);
});
