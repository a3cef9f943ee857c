import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, groupsOf, runningProgramsOf } from "../../support/launcher/machine.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { connected, type Raw, run, step, stepFrame } from "../launcher/raw.ts";

const MiB = 1 << 20;
/**
 * The memory that the launcher allows a box to leave for the kernel to free later, and some for the launcher itself.
 */
const LEFT_MOST = 4 * 4 * MiB;

describe("when the end of a box is reported", () => {
  let launcher: Launcher;
  let raw: Raw;
  before(async () => {
    launcher = await startLauncher();
    raw = await connected(launcher.socket);
  });
  after(async () => {
    raw.close();
    assert.equal(await launcher.stop(), 0, launcher.stderr());
  });

  const python = (source: string) =>
    step(["/usr/bin/python3", "-c", source], { MEMORY_BYTES: 512 * MiB, TMP_BYTES: 128 * MiB, FILE_BYTES: 128 * MiB });

  /** The current charge of the launcher and all its boxes, including removed ones. */
  const charged = () => {
    const files = ["memory.usage_in_bytes", "memory.current"];
    const home = groupsOf(launcher).filter((path) => path.endsWith(`/assay-${launcher.instance}`));
    const file = home.flatMap((path) => files.map((name) => join(path, name))).find(existsSync);
    assert.ok(file, "the launcher has no memory group");
    return Number(readFileSync(file, "utf8"));
  };

  for (const [what, source] of Object.entries({
    "failed look-ups of image paths": `
import os
for i in range(300000):
    try: os.stat("/usr/lib/absent-%d" % i)
    except OSError: pass
print("done")`,
    "files in /tmp and /dev/shm": `
for place in "/tmp/a", "/dev/shm/b":
    with open(place, "wb") as f: f.write(b"x" * (50 << 20))
print("done")`,
    "a memory file": `
import os
f = os.memfd_create("held")
os.write(f, b"x" * (100 << 20))
print("done")`,
  })) {
    test(`no memory is left by ${what}`, async () => {
      const before = charged();
      const { ended, torn, stdout } = await run(raw, python(source));
      const left = charged() - before;
      assert.equal(stdout, "done\n");
      assert.ok(ended.int("MEMORY_PEAK") > LEFT_MOST, `the program used ${ended.int("MEMORY_PEAK")}`);
      assert.ok(left < LEFT_MOST, `${Math.round(left / MiB)} MiB are left`);
      assert.deepEqual([torn.int("REAPED"), torn.texts("GROUP_LEFT")], [1, []]);
    });
  }

  test("the time of a look-up does not reveal look-ups of the previous program", async () => {
    const look = `
import os, time
def took(prefix):
    begin = time.thread_time_ns()
    for i in range(200000):
        try: os.stat(prefix % i)
        except OSError: pass
    return time.thread_time_ns() - begin
`;
    const first = await run(raw, python(`${look}\nprint(took("/usr/lib/secret-%d"))`));
    const { stdout } = await run(raw, python(`${look}\nprint(took("/usr/lib/secret-%d"), took("/usr/lib/public-%d"))`));
    const [secret = 0, fresh = 0] = stdout.split(" ").map(Number);
    assert.ok(
      secret > fresh / 2,
      `looked up before: ${secret} ns, never: ${fresh} ns; in the first run ${first.stdout}`,
    );
  });

  test("many files with long names in a kept work directory delay nothing and do not lose the slot", async () => {
    const sizes = { WORK_BYTES: 64 * MiB, WORK_INODES: 4_096, FILE_BYTES: 32 * MiB };
    const write = 'for i in range(4050): open("n" * 230 + str(i), "w").close()';
    const began = performance.now();
    const first = await run(raw, step(["/usr/bin/python3", "-c", write], { ...sizes, MORE: 1 }));
    const tookMs = performance.now() - began - Number(first.ended.big("WALL_NS")) / 1e6;
    assert.deepEqual(first.torn.texts("GROUP_LEFT"), []);
    assert.ok(tookMs < 1_000 * PATIENCE, `${tookMs} ms in addition to the program's time`);
    const { ended, stdout } = await run(raw, step(["/bin/sh", "-c", "ls | wc -l"], { ...sizes, KEEP_WORK: 1 }));
    assert.deepEqual([ended.optionalInt("EXIT_CODE"), stdout.trim()], [0, "4050"]);
  });

  test("the report includes the size of a kept work directory, which is not charged to the step's group", async () => {
    const sizes = { WORK_BYTES: 64 * MiB, FILE_BYTES: 64 * MiB };
    const write = 'with open("big", "wb") as f: f.write(b"x" * (20 << 20))';
    const first = await run(raw, step(["/usr/bin/python3", "-c", write], { ...sizes, MORE: 1 }));
    assert.deepEqual([first.ended.int("KEPT_BYTES"), first.torn.texts("GROUP_LEFT")], [0, []]);
    const { ended } = await run(raw, step(["/usr/bin/wc", "-c", "big"], { ...sizes, KEEP_WORK: 1 }));
    assert.ok(ended.int("MEMORY_PEAK") < 16 * MiB, `the group used ${ended.int("MEMORY_PEAK")}`);
    assert.ok(ended.int("KEPT_BYTES") >= 20 * MiB && ended.int("KEPT_BYTES") < 21 * MiB, `${ended.int("KEPT_BYTES")}`);
  });

  test("a step whose program could not be executed leaves no directory for the next", async () => {
    const failed = await run(raw, [...step(["./nothing"], { MORE: 1 }), ["FILE_NAME", "a"], ["FILE_DATA", "secret"]]);
    assert.equal(failed.ended.text("FAIL_STEP"), "exec");
    const { ended } = await run(raw, step(["/bin/cat", "a"], { KEEP_WORK: 1 }));
    assert.deepEqual([ended.text("FAIL_STEP"), ended.int("FAIL_ERRNO")], ["request", 2]);
  });
});

describe("before a program is executed", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher();
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0, launcher.stderr());
  });

  const ways: Readonly<Record<string, readonly [readonly string[], string]>> = {
    "by its name": [["/proc/self/exe", "--describe"], ""],
    "as the interpreter of a file": [["./a"], "#!/proc/self/exe --describe\n"],
    "by a chain of interpreters": [["./b"], "#!/box/a\n"],
  };
  for (const [way, [command, script]] of Object.entries(ways)) {
    test(`the launcher cannot be executed instead, ${way}`, async () => {
      const raw = await connected(launcher.socket);
      const files = [
        ["FILE_NAME", "a"],
        ["FILE_DATA", "#!/proc/self/exe --describe\n"],
        ["FILE_NAME", "b"],
        ["FILE_DATA", script],
      ] as const;
      const { ended, stdout } = await run(raw, [...step(command), ...files]);
      assert.deepEqual([ended.optionalText("FAIL_STEP"), ended.optionalInt("FAIL_ERRNO"), stdout], ["exec", 13, ""]);
      raw.close();
    });
  }

  test("if the machine is out of memory, the kernel kills programs before the launcher", async (t) => {
    const raw = await connected(launcher.socket);
    raw.send(stepFrame(step(["/bin/sleep", "5"])));
    await eventually("the program", () => runningProgramsOf(launcher).length > 0);
    const score = (pid: number) => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
    const [program] = runningProgramsOf(launcher);
    assert.equal(score(program?.pid ?? 0), 1000);
    const lowers = spawnSync("sh", ["-c", "echo -900 >/proc/self/oom_score_adj"]).status === 0;
    t.diagnostic(lowers ? "the launcher has -900" : "this host does not let processes lower their score");
    assert.equal(score(launcher.pid), lowers ? -900 : score(process.pid));
    raw.close();
  });

  test("a launcher that other users can execute does not start", async () => {
    const program = environment("ASSAY_TEST_LAUNCHER");
    const { mode } = statSync(program);
    assert.equal(mode & 0o077, 0, "users other than root have access");
    chmodSync(program, 0o711);
    try {
      // The launcher listens before it checks, so it may run for a moment.
      const started = async () => {
        const launcher = await startLauncher();
        if ((await launcher.stop()) !== 0) throw new Error(launcher.stderr());
      };
      await assert.rejects(started, /others may execute/);
    } finally {
      chmodSync(program, mode);
    }
  });
});
