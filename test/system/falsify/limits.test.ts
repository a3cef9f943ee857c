import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { exists } from "../../support/launcher/machine.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";
import { AT_ONCE, type Concluded, concluded, concludedWith, groupAbove, stopWell } from "./boxes.ts";

const MIB = 1 << 20;
/** Time to set the limit above the box. */
const A_MOMENT = `sleep ${0.5 * PATIENCE}`;

/** The facts that are read from each file, with the launcher's names. */
const V1 = {
  "memory.limit_in_bytes": ["memory limit"],
  "memory.max_usage_in_bytes": ["memory peak"],
  "memory.failcnt": ["memory limit hits"],
  "pids.max": ["process limit"],
  "pids.current": ["process count"],
  "pids.events": ["refused forks"],
  "pids.peak": ["process peak"],
};
const CORE = {
  "cpu.stat": ["cpu time"],
  "cgroup.events": ["populated"],
  "cpu.pressure": ["cpu pressure full", "cpu pressure some"],
};
const V2 = {
  "memory.max": ["memory limit"],
  "memory.peak": ["memory peak"],
  "memory.events": ["memory limit hits", "oom events", "oom kills"],
  "pids.max": ["process limit"],
  "pids.current": ["process count"],
  "pids.events": ["refused forks"],
  "pids.peak": ["process peak"],
};
const FILES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  cgroup_v2: { ...V2, ...CORE },
  cgroup_hybrid: { ...V1, ...CORE },
};

let sound: Concluded;
before(async () => {
  const result = await concluded(shell("true"));
  await stopWell(result.launcher);
  sound = result;
});

describe("the evidence has the values that the kernel holds, not the requested ones", () => {
  test("memory limit", async () => {
    const { evidence } = await concludedWith("memory_limit");
    assert.equal(evidence.limits.memoryLimitBytes, LIMITS.memoryBytes / 2);
    assert.equal(sound.evidence.limits.memoryLimitBytes, LIMITS.memoryBytes);
  });

  test("process limit", async () => {
    const { evidence } = await concludedWith("process_limit");
    assert.equal(evidence.limits.processLimit, LIMITS.processes + 1);
    assert.equal(sound.evidence.limits.processLimit, LIMITS.processes);
  });

  test("rlimits", async () => {
    const { evidence } = await concludedWith("resource_limits");
    const { openFiles } = LIMITS;
    assert.deepEqual(evidence.limits.rlimits.nofile, { soft: openFiles - 1, hard: openFiles });
    assert.deepEqual(sound.evidence.limits.rlimits.nofile, { soft: openFiles, hard: openFiles });
  });

  test("usage: memory, CPU time and processes are counted by the group", async () => {
    const work = "head -c 6000000 /dev/zero > /tmp/a; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    const { evidence, launcher } = await concluded(shell(work, { limits: { ...LIMITS, fileBytes: 8 * MIB } }));
    await stopWell(launcher);
    const [used, unused] = [evidence.limits, sound.evidence.limits];
    assert.ok(used.memoryPeakBytes > unused.memoryPeakBytes + 5 * MIB);
    assert.ok(used.cpuUsec > unused.cpuUsec + 5_000);
    assert.equal(unused.processCount, 0);
  });
});

describe("an unreadable counter is an error of the evidence, and the run is IE", AT_ONCE, () => {
  test("each file with facts", AT_ONCE, async (t) => {
    // Some kernels lack these files, and no verdict depends on them.
    const absent: Readonly<Record<string, boolean>> = {
      "pids.peak": sound.facts.processPeak === null,
      "cpu.pressure": sound.facts.psiFullUsec === null,
    };
    const files = Object.entries(FILES[sound.facts.backend] ?? {});
    const unreadable = files.map(([file, facts]) =>
      t.test(file, { skip: absent[file] ? "this kernel lacks the counter" : false }, async () => {
        const { result, evidence } = await concludedWith(`unreadable:${file}`);
        const named = evidence.teardown.collectionErrors.map((text) => text.slice(0, text.indexOf(":")));
        assert.deepEqual([...new Set(named)].filter((name) => facts.includes(name)).toSorted(), facts.toSorted());
        assert.equal(result.verdict, "IE");
        assert.equal(evidence.teardown.cleanupVerified, false);
      }),
    );
    await Promise.all(unreadable);
  });

  test("without the v1 control file of the OOM killer, no box is built", async (t) => {
    if (sound.facts.backend === "cgroup_v2") return t.skip("cgroup_v2 has none");
    await assert.rejects(concluded(shell("true"), { fault: "unreadable:memory.oom_control" }), /memory\.oom_control/);
  });

  test("the signal counts of the kernel", async (t) => {
    if (sound.facts.signalSource === "none") return t.skip("no tracepoint on this machine");
    const { result, evidence } = await concludedWith("signal_counts");
    assert.match(evidence.teardown.collectionErrors.join(), /^signal counts: /);
    assert.equal(result.verdict, "IE");
  });
});

describe("a limit above the box is not attributed to the program", () => {
  test("memory: an OOM kill because of a group above is IE, not MLE", async () => {
    const limit = sound.facts.backend === "cgroup_v2" ? "memory.max" : "memory.limit_in_bytes";
    const { facts, result, launcher } = await concluded(
      shell(`${A_MOMENT}; head -c 100000000 /dev/zero | tail; sleep 5`, {
        limits: { ...LIMITS, wallMs: 20_000 * PATIENCE },
      }),
      {
        meanwhile: (owner) => {
          const above = groupAbove(owner, (path) => exists(join(path, limit)));
          writeFileSync(join(above, limit), String(40 * MIB));
          // Prevents swapping: another test switches swap on for a moment.
          const [swap, none] =
            limit === "memory.max" ? ["memory.swap.max", "0"] : ["memory.memsw.limit_in_bytes", String(40 * MIB)];
          if (exists(join(above, swap))) writeFileSync(join(above, swap), none);
        },
      },
    );
    await stopWell(launcher);
    assert.ok(facts.oomKills > 0, "the leaf does not count the kill");
    assert.ok(facts.memoryPeakBytes < facts.memoryLimitBytes);
    assert.deepEqual([result.verdict, result.errorMessage], ["IE", "the host ran out of memory, not the program"]);
  });

  test("processes: a fork refused by a group above is not PLE", async () => {
    const { facts, result, launcher } = await concluded(shell(`${A_MOMENT}; true | true | true || exit 1; exit 1`), {
      meanwhile: (owner) => {
        const above = groupAbove(owner, (path) => exists(join(path, "pids.max")));
        writeFileSync(join(above, "pids.max"), "2");
      },
    });
    await stopWell(launcher);
    // From Linux 6.11 on, v2 counts the refusal in the group above, and not in the leaf.
    const counted = facts.forksRefused > 0;
    assert.equal(result.verdict, counted ? "IE" : "RE");
    if (sound.facts.backend !== "cgroup_v2") assert.ok(counted, "the leaf does not count it");
    if (counted) assert.equal(result.errorMessage, "the host refused a process, not the program's own limit");
  });
});
