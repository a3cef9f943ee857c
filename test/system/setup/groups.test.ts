import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

/** The process's own group, below which tests may make groups. */
function ownGroup(): string {
  const lines = readFileSync("/proc/self/cgroup", "utf8");
  const v1 = /^\d+:pids:(.*)$/m.exec(lines)?.[1];
  return v1 === undefined
    ? join("/sys/fs/cgroup", /^0::(.*)$/m.exec(lines)?.[1] ?? assert.fail(lines))
    : join("/sys/fs/cgroup/pids", v1);
}

/** A group with a process in it. */
function inhabited(t: TestContext, name: string): { path: string; process: ChildProcess } {
  const path = join(ownGroup(), name);
  mkdirSync(path);
  const process = spawn("sleep", ["60"]);
  writeFileSync(join(path, "cgroup.procs"), String(process.pid));
  t.after(async () => {
    if (process.exitCode === null && process.signalCode === null) {
      process.kill("SIGKILL");
      await new Promise((ended) => process.once("exit", ended));
    }
    if (existsSync(path)) rmdirSync(path);
  });
  return { path, process };
}

const removeGroups = (instance: string) =>
  execFileSync("sh", ["-euc", '. setup/log.sh; . setup/groups.sh; remove_groups "$1"', "sh", instance], {
    cwd: resolve(import.meta.dirname, "../../.."),
  });

test("the groups of a dead instance are removed with their members and subgroups", async (t) => {
  const instance = `dead-${process.pid}`;
  const { path, process: member } = inhabited(t, `assay-${instance}`);
  const below = inhabited(t, `assay-${instance}/s0-b1`);
  const ended = Promise.all([member, below.process].map((one) => new Promise((gone) => one.once("exit", gone))));
  removeGroups(instance);
  await ended;
  assert.deepEqual([existsSync(path), member.signalCode, below.process.signalCode], [false, "SIGKILL", "SIGKILL"]);
});

test("the group of the second launcher of a dead bench is removed with its instance", async (t) => {
  const instance = `bench-${process.pid}`;
  const { path, process: member } = inhabited(t, `assay-${instance}-bench`);
  const ended = new Promise((gone) => member.once("exit", gone));
  removeGroups(instance);
  await ended;
  assert.deepEqual([existsSync(path), member.signalCode], [false, "SIGKILL"]);
});

test("groups of other instances, and of other users under our name, are not touched", (t) => {
  const instance = `other-${process.pid}`;
  const longer = inhabited(t, `assay-${instance}-2`);
  const theirs = inhabited(t, `assay-${instance}`);
  chownSync(theirs.path, 12_345, 12_345);
  removeGroups(instance);
  for (const { path, process: member } of [longer, theirs]) {
    assert.ok(existsSync(path));
    assert.match(readFileSync(`/proc/${member.pid}/stat`, "utf8"), /^\d+ \(sleep\) [SR] /);
    assert.equal(readFileSync(join(path, "cgroup.procs"), "utf8"), `${member.pid}\n`);
  }
});
