import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { NOBODY } from "../../support/cli/processes.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, groupsOf, read, runningProgramsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";
import { connected, run, step } from "../launcher/raw.ts";
import { AT_ONCE, concluded, concludedWith, leavesOf, reported, stopWell } from "./boxes.ts";

/**
 * Lasts long enough for the interference on a busy machine. No shell starts it, because a program in the middle of an
 * exec is not found.
 */
const A_WHILE = shell("", {
  command: { command: ["/bin/sleep", String(12 * PATIENCE)], env: {} },
  limits: { ...LIMITS, wallMs: 40_000 * PATIENCE },
});

/** Leftovers are a fault of the platform and do not affect the verdict. */
const ACCEPTED = {
  verdict: "AC",
  cause: "normal_exit",
  actor: "runtime",
  exitCode: 0,
  signal: null,
  errorMessage: null,
};

test("without leftovers, the clean-up is verified and the slot continues", async () => {
  const { evidence, result, alive, launcher } = await concluded(shell("true"));
  assert.deepEqual(evidence.teardown, {
    reapStatus: "clean",
    descendantContainment: "ok",
    zombieCount: 0,
    cleanupVerified: true,
    residualMounts: [],
    collectionErrors: [],
    judgeActions: [],
  });
  assert.deepEqual([result, alive], [ACCEPTED, true]);
  await stopWell(launcher);
});

test("the file systems of a box are unmounted even while another user holds its mount list open", async (t) => {
  let holder: ChildProcess | undefined;
  t.after(() => holder?.kill("SIGKILL"));
  const result = await concluded(A_WHILE, {
    meanwhile: async (launcher) => {
      const [program] = runningProgramsOf(launcher);
      const list = `/proc/${program?.pid}/mountinfo`;
      const script = `exec 3< ${list} && grep -q ' /box ' ${list} && echo open && read _ && cat <&3 && echo all`;
      holder = spawn("sh", ["-c", script], { uid: NOBODY, gid: NOBODY, stdio: ["pipe", "pipe", "inherit"] });
      const [line] = (await once(holder.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
      assert.equal(String(line), "open\n");
    },
  });
  assert.equal(result.evidence.teardown.cleanupVerified, true);
  assert.ok(holder?.stdin && holder.stdout);
  holder.stdin.end("\n");
  const mounts = (await holder.stdout.toArray()).join("");
  assert.equal(mounts, "all\n", "the mount list can still be read, and is empty");
  await stopWell(result.launcher);
});

test("the file systems of a box that was given up before its init was ready are unmounted as well", async (t) => {
  const held = new Map<string, number>();
  t.after(() => {
    for (const fd of held.values()) closeSync(fd);
  });
  // The init and the program of the step, and the init that hangs, which exists for 50 ms.
  for (let tries = 0; held.size < 3; tries++) {
    assert.ok(tries < 5, "the init that hangs was never seen");
    for (const fd of held.values()) closeSync(fd);
    held.clear();
    await holdProcesses(held);
  }
  for (const fd of held.values()) assert.doesNotMatch(readFileSync(fd, "utf8"), / \/(box|tmp|dev\/shm) /);
});

/** Opens the mount list of each process that a slot starts during a step, and ends the launcher. */
async function holdProcesses(held: Map<string, number>): Promise<void> {
  const launcher = await startLauncher({ fault: "box_5_hangs" });
  const raw = await connected(launcher.socket);
  try {
    // The fifth box is the first that is built while a step runs. It shares /box with that step, and is given up after 50 ms.
    await run(raw, step(["/bin/true"], { MORE: 1 }));
    await run(raw, step(["/bin/true"], { KEEP_WORK: 1 }));
    let ended = false;
    const running = run(raw, step(["/bin/sleep", "1"], { MORE: 1 })).finally(() => {
      ended = true;
    });
    const slots = childrenOf(launcher.pid);
    while (!ended) {
      for (const slot of slots)
        for (const pid of read(`/proc/${slot}/task/${slot}/children`)
          .split(" ")
          .filter((pid) => pid && !held.has(pid)))
          try {
            held.set(pid, openSync(`/proc/${pid}/mountinfo`, "r"));
          } catch {
            // it has ended
          }
      await sleep(1);
    }
    await running;
  } finally {
    raw.close();
    await launcher.stop();
  }
}

describe("leftovers are listed, the clean-up is not verified, and the slot is discarded", AT_ONCE, () => {
  test("a process from outside in the box's groups", async (t) => {
    const intruder = spawn("sleep", ["600"], { stdio: "ignore" });
    t.after(() => intruder.kill("SIGKILL"));
    const ended = once(intruder, "exit");
    const result = await concluded(A_WHILE, {
      meanwhile: async (launcher) => {
        for (const leaf of await leavesOf(launcher)) writeFileSync(join(leaf, "cgroup.procs"), String(intruder.pid));
      },
    });
    const { teardown, limits } = result.evidence;
    assert.deepEqual([teardown.descendantContainment, teardown.cleanupVerified], ["leaked", false]);
    assert.deepEqual([limits.processCount, result.facts.survivors, teardown.zombieCount], [1, 1, 0]);
    assert.match(teardown.collectionErrors.join(), /cgroup not removed: s0-b\d+ in /);
    assert.deepEqual(
      teardown.judgeActions.map(({ type }) => type),
      ["descendant_kill"],
    );
    assert.deepEqual([result.result, result.alive], [ACCEPTED, false]);
    await stopWell(result.launcher);
    assert.deepEqual(await ended, [null, "SIGKILL"], "the process must be killed with the box's group");
  });

  test("a zombie, which no kill can remove", async (t) => {
    let parent: ChildProcess | undefined;
    t.after(() => parent?.kill("SIGKILL"));
    const result = await concluded(A_WHILE, {
      meanwhile: async (launcher) => {
        // The child enters the groups and exits. Its parent becomes a sleep, which does not wait for it.
        const enter = (await leavesOf(launcher)).map((leaf) => `echo 0 > '${join(leaf, "cgroup.procs")}'`);
        const script = `(${enter.join(" && ")} && echo in; exit 0) & exec sleep 600 > /dev/null`;
        parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"] });
        assert.equal((await parent.stdout?.toArray())?.join(""), "in\n");
      },
    });
    const { teardown } = result.evidence;
    assert.deepEqual([teardown.zombieCount, teardown.reapStatus, teardown.cleanupVerified], [1, "incomplete", false]);
    assert.equal(teardown.descendantContainment, "leaked");
    assert.deepEqual([result.result, result.alive], [ACCEPTED, false]);
    parent?.kill("SIGKILL");
    await stopWell(result.launcher);
  });

  test("a group that cannot be removed", async () => {
    const inside: string[] = [];
    const result = await concluded(A_WHILE, {
      meanwhile: async (launcher) => {
        const [leaf] = await leavesOf(launcher);
        assert.ok(leaf);
        inside.push(join(leaf, "inside"));
        mkdirSync(inside[0] as string);
      },
    });
    const { teardown } = result.evidence;
    const [error] = teardown.collectionErrors;
    const leaf = basename(join(inside[0] as string, ".."));
    assert.match(error ?? "", new RegExp(`^cgroup not removed: ${leaf} in \\w+: Device or resource busy$`));
    assert.deepEqual([teardown.collectionErrors.length, teardown.cleanupVerified], [1, false]);
    assert.deepEqual([teardown.descendantContainment, teardown.reapStatus], ["ok", "clean"]);
    assert.deepEqual([result.result, result.alive], [ACCEPTED, false]);
    // The launcher sweeps after the lost slot, and removes the groups below its groups as well.
    await stopWell(result.launcher);
    assert.deepEqual(groupsOf(result.launcher), []);
  });

  test("a mount", async () => {
    const { result, evidence, alive } = await concluded(shell("true", { work: "keep" }), {
      fault: "umount",
      first: shell("true", { more: true }),
    });
    assert.deepEqual(evidence.teardown.residualMounts, ["/box"]);
    assert.equal(evidence.teardown.cleanupVerified, false);
    assert.deepEqual([result, alive], [ACCEPTED, false]);
  });

  test("an init that does not end", async () => {
    const { result, evidence, alive } = await concludedWith("init_stays");
    assert.deepEqual([evidence.teardown.reapStatus, evidence.teardown.cleanupVerified], ["incomplete", false]);
    assert.deepEqual([result, alive], [ACCEPTED, false]);
  });

  test("a process of the program that escapes the kill without a pid namespace", async () => {
    const { result, evidence, alive } = await concludedWith("pid_namespace", "sleep 600 > /dev/null 2>&1 &");
    const { teardown } = evidence;
    assert.deepEqual([teardown.descendantContainment, teardown.cleanupVerified], ["leaked", false]);
    assert.match(teardown.collectionErrors.join(), /cgroup not removed/);
    assert.deepEqual([result.verdict, alive], ["IE", false]);
  });

  test("processes that replace each killed one by forking, without a pid namespace", async () => {
    const MANY = { ...LIMITS, processes: 100 };
    const bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass";
    const { evidence, alive, launcher } = await concluded(
      shell(`python3 -c '${bomb}' > /dev/null 2>&1 & sleep 0.5`, { limits: MANY }),
      {
        fault: "pid_namespace",
      },
    );
    assert.deepEqual([evidence.teardown.descendantContainment, alive], ["leaked", false]);
    await stopWell(launcher);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("a program that cannot be killed loses its slot, which does not hang", async () => {
    const endless = shell("sleep 600", { limits: { ...LIMITS, wallMs: 300 } });
    const { facts, alive, launcher } = await reported(endless, { fault: "init_stays" });
    await stopWell(launcher);
    assert.deepEqual(
      [facts.failure?.step, buildOutcome({ execute: facts }).result.verdict, alive],
      ["wait", "IE", false],
    );
  });

  test("escaped processes do not prevent the launcher's stop", async () => {
    let stopped: Promise<number> | undefined;
    const run = concluded(shell("sleep 600 & sleep 600"), {
      fault: "pid_namespace",
      meanwhile: (launcher) => {
        stopped = launcher.stop();
      },
    });
    await Promise.allSettled([run]);
    assert.equal(await stopped, 0);
  });

  test("an unreadable mount list", async () => {
    const { evidence } = await concludedWith("unreadable:self/mountinfo");
    assert.match(evidence.teardown.collectionErrors.join(), /^mount list: /);
    assert.equal(evidence.teardown.cleanupVerified, false);
  });
});

describe("actions of the launcher are reported if and only if they happened", () => {
  test("a forced kill with its reason", async () => {
    const { evidence, launcher } = await concluded(shell("sleep 600", { limits: { ...LIMITS, wallMs: 300 } }));
    await stopWell(launcher);
    const details = "SIGKILL to every process of the box: wall time limit";
    assert.deepEqual(evidence.teardown.judgeActions, [{ type: "forced_kill", details }]);
  });

  test("survivors with their number", async () => {
    const { evidence, launcher } = await concluded(shell("sleep 600 & sleep 600 & sleep 600 &"));
    await stopWell(launcher);
    const details = "SIGKILL to 3 processes still alive when the program had ended";
    assert.deepEqual(evidence.teardown.judgeActions, [{ type: "descendant_kill", details }]);
  });
});
