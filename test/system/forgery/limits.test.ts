import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PATIENCE } from "../../support/engine/timeouts.ts";
import { accepted, assertSaid, countsSignals, cpuTimeout, exited, signalled, useBoxes } from "./boxes.ts";

const boxes = useBoxes();

describe("a program cannot replace a limit of its run", () => {
  for (const [limit, label] of Object.entries({ fsize: "file-size limit", cpu: "CPU limit" })) {
    for (const way of ["setrlimit", "prlimit"]) {
      test(`its own ${label}, by ${way}`, async () => {
        const judged = await boxes().judged("c", "lowers-its-own-limit", { stdin: `${way} ${limit}` });
        assert.equal(judged.stdout, "EPERM\n");
        assertSaid(judged, exited(1));
      });
    }

    test(`the ${label} of its child`, async () => {
      const judged = await boxes().judged("c", "lowers-its-own-limit", { stdin: `of-a-child ${limit}` });
      assert.equal(judged.stdout, "EPERM\n");
      assertSaid(judged, exited(1));
    });
  }

  test("in Python", async () => {
    const judged = await boxes().judged("python", "lowers-its-limits");
    assert.equal(judged.stdout, "refused\nrefused\n");
    assertSaid(judged, exited(1));
  });

  test("by the shell's ulimit", async () => {
    assertSaid(await boxes().judged("python", "lowers-limits-by-shell"), exited(1));
  });

  test("limits without a verdict can be read and lowered, and have no effect on the verdict", async () => {
    assertSaid(await boxes().judged("c", "lowers-harmless-limits"), exited(5));
  });

  test("limits of real-time tasks, which send the same signal, cannot be reached", async () => {
    const judged = await boxes().judged("c", "tries-to-be-real-time");
    assert.equal(judged.stdout, "EPERM\nEPERM\n");
    assertSaid(judged, exited(1));
  });
});

/** 256 MiB, page by page: half a second, and 20 s in user-mode Linux. */
const PATIENT = { limits: { wallMs: 60_000 * PATIENCE, cpuMs: 20_000 * PATIENCE } };

describe("memory", () => {
  test("messages of the OOM killer with exit code 137 are RE", async () => {
    assertSaid(await boxes().judged("python", "prints-oom-messages"), exited(137));
  });

  test("reaching the limit with reclaimable memory is AC: a peak at the limit is no evidence", async () => {
    const judged = await boxes().judged("c", "touches-the-memory-limit", PATIENT);
    assertSaid(judged, accepted);
    const { memoryPeakBytes, memoryLimitBytes, memoryLimitHits } = judged.facts;
    assert.ok(memoryPeakBytes > memoryLimitBytes * 0.95, `${memoryPeakBytes} of ${memoryLimitBytes}`);
    assert.ok(memoryLimitHits > 0, "the limit was reached");
  });

  test("memory refused by the address-space limit is not MLE, whatever the program prints", async () => {
    assertSaid(await boxes().judged("c", "maps-too-much"), exited(137));
    assertSaid(await boxes().judged("python", "catches-memory-error"), exited(137));
  });

  test("an OOM kill of a child makes the run MLE although its parent would exit with 0", async () => {
    const judged = await boxes().judged("c", "child-is-killed-for-memory", PATIENT);
    const killReason = judged.facts.backend === "cgroup_v2" ? "none" : "oom"; // on v2, the kernel kills the group
    const { oomKills } = judged.facts;
    assert.ok(oomKills > 0);
    const killed = { ...accepted, exitCode: null, signal: 9, killReason, oomKills };
    assertSaid(judged, { ...killed, verdict: "MLE", cause: "oom_kill", actor: "kernel" });
  });
});

describe("refusals that a program handles", () => {
  test("a refused fork and exit 0 are AC, with the counter", async () => {
    const judged = await boxes().judged("c", "copes-with-a-refused-fork", { stdin: "0" });
    assertSaid(judged, { ...accepted, pidsRefused: 1 });
  });

  test("a refused fork and exit 3 are PLE", async () => {
    const judged = await boxes().judged("c", "copes-with-a-refused-fork", { stdin: "3" });
    assertSaid(judged, { ...exited(3), pidsRefused: 1, verdict: "PLE", cause: "pids_limit", actor: "kernel" });
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

describe("a program cannot make its own start an internal error", () => {
  for (const language of ["c", "rust"]) {
    test(`with an invalid loader name (${language}): the linker's name is used`, async () => {
      assertSaid(await boxes().judged(language, "asks-for-another-loader"), accepted);
    });
  }

  test("as a library (rust): it does not compile", async () => {
    assertSaid(await boxes().judged("rust", "is-a-library"), { ...exited(1), cause: "compile_error" });
  });

  test("as a file larger than its limits: the kernel kills it during exec", async () => {
    assertSaid(await boxes().judged("c", "larger-than-its-limits"), signalled(11));
  });
});
