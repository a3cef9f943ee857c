import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

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

test("a process leaves the terminal's session before it becomes the service's user", (t) => {
  const bin = directory(t);
  // This script stands in for the program that changes the user.
  writeFileSync(
    join(bin, "setpriv"),
    "#!/bin/sh\nread -r _ _ _ _ _ session _ </proc/$$/stat\necho $session $(id -u)\n",
  );
  chmodSync(join(bin, "setpriv"), 0o755);
  const caller = /^\d+ \(.*\) \S \d+ \d+ (\d+)/s.exec(readFileSync("/proc/self/stat", "utf8"))?.[1];
  for (const runner of ["as_service", "as_root"]) {
    const said = shell(["machine"], `(${runner} true)`, { PATH: `${bin}:${process.env.PATH}` });
    const [session, uid] = said.trim().split(" ");
    assert.equal(uid, "0");
    assert.notEqual(session, caller, runner);
  }
});
