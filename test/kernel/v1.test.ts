import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { environment } from "../launcher/launcher.ts";
import { makePlace, type Run, run } from "./places.ts";

const RUNNER = resolve(import.meta.dirname, "v1");
const WHY_NOT = execFileSync(RUNNER, ["lacks"], { encoding: "utf8" }).trim();

test("a machine either has cgroup v1 or says why not", () => {
  const v1 = ["memory", "pids", "cpuacct"].every((controller) => existsSync(`/sys/fs/cgroup/${controller}/tasks`));
  if (v1) assert.equal(WHY_NOT, "");
  else assert.match(WHY_NOT, /^its kernel has the \w+ controller on cgroup v2, and can have it on one alone$|^$/);
});

/** A shell script as the command; `$dir` and `$all` are its places. */
async function onV1(t: TestContext, script: string, how?: Run) {
  const place = makePlace(t);
  writeFileSync(
    join(place.dir, "command"),
    [`dir=${place.dir}`, `all=${place.all}`, "sh", "-c", script, ""].join("\0"),
  );
  return { ...(await run("v1", place, how)), place, groups: groupsNamed(basename(place.all)) };
}

/** Of whatever tree; others come and go meanwhile, which find minds. */
function groupsNamed(name: string): string[] {
  const { stdout } = spawnSync("find", ["/sys/fs/cgroup", "-name", `*${name}*`], { encoding: "utf8" });
  return stdout.split("\n").filter((path) => path !== "");
}

describe("a host with cgroup v1 alone", { skip: WHY_NOT || false }, () => {
  test("has no cgroup v2, and the trees of v1, in a group of the run's own that is removed", async (t) => {
    const see = "grep -c ' - cgroup2 ' /proc/self/mountinfo; grep -E ':(memory|pids|cpuacct):' /proc/self/cgroup";
    const { code, console, words, left, groups, place } = await onV1(t, see);
    const [v2, ...trees] = console.trim().split("\n");
    assert.deepEqual([code, v2, words, left, groups], [0, "0", "", [], []]);
    assert.equal(trees.length, 3);
    for (const tree of trees) assert.match(tree, new RegExp(`/assay-${basename(place.all)}$`));
  });

  test("has the command's environment, words and status", async (t) => {
    const failed = await onV1(t, "echo $dir; exit 3");
    assert.deepEqual([failed.code, failed.console], [1, `${failed.place.dir}\n`]);
  });

  test("is read-only but for DIR and for memory that goes with it", async (t) => {
    const write = 'for place in / $all $all/tmp $dir; do touch "$place/x" 2>/dev/null && echo "$place"; done; true';
    const { console, place } = await onV1(t, write);
    assert.equal(console, `${place.all}/tmp\n${place.dir}\n`);
    assert.deepEqual([existsSync(join(place.all, "tmp/x")), existsSync(join(place.dir, "x"))], [false, true]);
  });

  test("fails when a group is left, and removes it", async (t) => {
    const leave = "group=/sys/fs/cgroup/pids$(sed -n 's/.*:pids://p' /proc/self/cgroup); mkdir $group/left";
    const { code, words, groups } = await onV1(t, leave);
    assert.deepEqual([code, groups], [1, []]);
    assert.match(words, /^left on cgroup v1: \S+\/left$/m);
  });

  const hangs = 'trap "" TERM; echo "the last words"; sh -c "sleep 600; : $dir" & wait; sleep 600';

  test("is ended with all that it has started when it hangs", async (t) => {
    const { code, console, words, left, groups } = await onV1(t, hangs, { seconds: 5 });
    assert.deepEqual([code, console, left, groups], [1, "the last words\n", [], []]);
    assert.match(words, /^the host with cgroup v1 alone did not end within 5 s and was killed/m);
  });

  test("is ended by an interrupt", async (t) => {
    const { code, words, left, groups } = await onV1(t, hangs, { interrupt: true });
    assert.deepEqual([code, left, groups], [1, [], []]);
    assert.match(words, /^the host with cgroup v1 alone was interrupted$/m);
  });

  /** What the launcher says of it, after the shell has done `first`. */
  async function check(t: TestContext, first = ":") {
    const rootfs = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
    const own = `--image ${rootfs} --instance v1-${process.pid} --uid-base ${environment("ASSAY_TEST_UID_BASE")}`;
    const { console, groups } = await onV1(t, `${first}; ${environment("ASSAY_TEST_LAUNCHER")} --check ${own}`);
    assert.deepEqual(groups, []);
    const lines: { check: string; works: boolean; detail: string }[] = console
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    return (name: string) => lines.filter((line) => line.check === name).map(({ works, detail }) => [works, detail]);
  }

  test("is one on which a box can be built, and the doctor says what it lacks", async (t) => {
    const said = await check(t);
    assert.deepEqual(said("cgroup"), [[true, "cgroup_v1"]]);
    assert.deepEqual(said("bpf"), [[false, "needs a cgroup v2 mount beside v1"]]);
    assert.deepEqual(said("pressure"), [[false, "the kernel keeps none per group"]]);
    assert.deepEqual([said("box")[0]?.[0], said("teardown")[0]?.[0]], [true, true]);
  });

  test("without cpuacct is refused, because nothing would count CPU time", async (t) => {
    const said = await check(t, "umount $(sed -n 's/^cgroup \\(.*cpuacct\\) .*/\\1/p' /proc/mounts)");
    const [[works, detail] = []] = said("cgroup");
    assert.equal(works, false);
    assert.match(String(detail), /nothing counts CPU time: no cpuacct controller, and no v2 beside v1/);
  });
});
