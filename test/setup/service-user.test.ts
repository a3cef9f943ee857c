import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

// Attacks of a compromised service on root's commands. The user `daemon` exists on every Debian and stands for the service's user.
const setup = resolve(import.meta.dirname, "../../setup");

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "assay-service-user-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  chmodSync(path, 0o755);
  return path;
}

const script = (lines: string) =>
  `${["say", "step", "data-dir", "machine", "instance"].map((part) => `. ${setup}/${part}.sh`).join("\n")}
service_user=daemon uid_locks=/nowhere
${lines}`;

/** Runs lines of shell after parts of set-up. @param open descriptors that the shell gets as 3 and above */
function shell(lines: string, env: Record<string, string> = {}, open: readonly number[] = []) {
  return spawnSync("sh", ["-euc", script(lines)], {
    encoding: "utf8",
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", ...open],
    timeout: 60_000,
  });
}

test("a process of the service's user has no descriptor of its caller above 2", (t) => {
  const lock = openSync(join(directory(t), "lock"), "w", 0o600);
  t.after(() => closeSync(lock));
  const { stdout, stderr } = shell(
    "(as_service sh -c 'for fd in /proc/$$/fd/*; do [ ! -e $fd ] || basename $fd; done')",
    { LC_ALL: "none_NONE", LC_CTYPE: "none_NONE" },
    Array(10).fill(lock), // 3 to 12
  );
  assert.deepEqual(stdout.match(/^\d+/gm), ["0", "1", "2"], `${stdout}${stderr}`);
  assert.equal(stderr, "");
});

test("a command that waits for the set-up lock prints only a process number from the lock file", async (t) => {
  const data = directory(t);
  const lock = join(data, "lock");
  writeFileSync(lock, "\u001b[2Jtext\n");
  const holder = spawn("flock", [lock, "sh", "-c", "echo locked; exec sleep 3"]);
  t.after(() => holder.kill());
  await once(holder.stdout, "data");
  const { stderr } = shell("lock_set_up", { data });
  assert.match(stderr, /another set-up of .* is running \(process unknown\)/);
});
