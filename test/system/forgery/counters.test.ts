import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { accepted, assertSaid, countsSignals, cpuTimeout, exited, useBoxes } from "./boxes.ts";

/** Verdicts that depend on counters of the box's cgroup, which differ between the cgroup versions. */

const boxes = useBoxes();

/** 256 MiB, page by page: half a second, and 20 s in user-mode Linux. */
const PATIENT = { limits: { wallMs: 60_000 * PATIENCE, cpuMs: 20_000 * PATIENCE } };

describe("memory", () => {
  test("a program that prints messages of the OOM killer and exits with 137 is RE", async () => {
    assertSaid(await boxes().judged("python", "prints-oom-messages"), exited(137));
  });

  test("a program that just fits is AC, because a peak at the limit is not an OOM kill", {
    skip: PATIENCE > 1 && SKIPS_LONG,
  }, async (t) => {
    const STEP = 65_536;
    for (let free = STEP; free < 32 * 1_048_576; free += STEP) {
      const limits = { ...PATIENT.limits, memoryBytes: 64 * 1_048_576 };
      const stdin = String(limits.memoryBytes - free);
      const judged = await boxes().judged("c", "touches-the-memory-limit", { limits, stdin });
      const { oomKills, memoryPeakBytes, memoryLimitBytes } = judged.facts;
      if (oomKills > 0) continue;
      t.diagnostic(`with ${free} bytes for everything else`);
      assertSaid(judged, accepted);
      assert.ok(memoryPeakBytes > memoryLimitBytes * 0.98, `${memoryPeakBytes} of ${memoryLimitBytes}`);
      return;
    }
    assert.fail("no size fits");
  });

  test("a program that exits because of the address-space limit is RE, not MLE, regardless of its output", async () => {
    assertSaid(await boxes().judged("c", "maps-too-much"), exited(137));
    assertSaid(await boxes().judged("python", "catches-memory-error"), exited(137));
  });

  test("an OOM kill of a child makes the run MLE although its parent would exit with 0", async () => {
    const judged = await boxes().judged("c", "child-is-killed-for-memory", PATIENT);
    const killReason = judged.facts.backend === "cgroup_v2" ? "none" : "oom"; // on v2, the kernel kills the group
    const { oomKills, samples = [], memoryLimitBytes } = judged.facts;
    assert.ok(oomKills > 0);
    const highest = Math.max(...samples.map(({ memoryBytes }) => memoryBytes));
    assert.ok(highest > memoryLimitBytes * 0.7 && highest <= memoryLimitBytes, `samples up to ${highest}`);
    const killed = { ...accepted, exitCode: null, signal: 9, killReason, oomKills };
    assertSaid(judged, { ...killed, verdict: "MLE", cause: "oom_kill", actor: "kernel" });
  });
});

describe("refusals that a program handles", () => {
  test("a refused fork and exit 0 are AC, with the counter", async () => {
    const judged = await boxes().judged("c", "copes-with-a-refused-fork", { stdin: "0" });
    assertSaid(judged, { ...accepted, forksRefused: 1 });
  });

  test("a refused fork and exit 3 are PLE", async () => {
    const judged = await boxes().judged("c", "copes-with-a-refused-fork", { stdin: "3" });
    assertSaid(judged, { ...exited(3), forksRefused: 1, verdict: "PLE", cause: "pids_limit", actor: "kernel" });
  });

  test("a caught EFBIG and exit 0 are AC, with the counter", async () => {
    const judged = await boxes().judged("c", "copes-with-a-full-file", { stdin: "0" });
    assertSaid(judged, { ...accepted, fsizeSignals: countsSignals(judged) ? 1 : 0 });
    const python = await boxes().judged("python", "copes-with-a-full-file");
    assert.equal(python.stdout, "27\n");
    assertSaid(python, { ...accepted, fsizeSignals: countsSignals(python) ? "some" : 0 });
  });

  test("a caught EFBIG and exit 3 are FSE if the kernel counts them", async () => {
    const judged = await boxes().judged("c", "copes-with-a-full-file", { stdin: "3" });
    const full = { ...exited(3), fsizeSignals: 1, verdict: "FSE", cause: "file_size_limit", actor: "kernel" };
    assertSaid(judged, countsSignals(judged) ? full : exited(3));
  });
});

test("the CPU time of thousands of short children adds up to TLE", async () => {
  const judged = await boxes().judged("c", "many-short-children", { limits: { cpuMs: 600, wallMs: 20_000 } });
  assertSaid(judged, cpuTimeout);
  assert.ok(judged.facts.cpuUsec >= 600_000);
});
