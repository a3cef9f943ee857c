import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PATIENCE } from "../engine/patience.ts";
import { accepted, assertSaid, countsSignals, cpuTimeout, exited, signalled, useBoxes } from "./boxes.ts";

const boxes = useBoxes();

describe("a program cannot choose a limit and have it taken for ours", () => {
  for (const [limit, words] of Object.entries({ fsize: "file-size limit", cpu: "CPU limit" })) {
    for (const way of ["setrlimit", "prlimit"]) {
      test(`its own ${words}, by ${way}`, async () => {
        const judged = await boxes().judged("c", "lowers-its-own-limit", { stdin: `${way} ${limit}` });
        assert.equal(judged.stdout, "EPERM\n");
        assertSaid(judged, exited(1));
      });
    }

    test(`the ${words} of its child`, async () => {
      const judged = await boxes().judged("c", "lowers-its-own-limit", { stdin: `of-a-child ${limit}` });
      assert.equal(judged.stdout, "EPERM\n");
      assertSaid(judged, exited(1));
    });
  }

  test("from Python", async () => {
    const judged = await boxes().judged("python", "lowers-its-limits");
    assert.equal(judged.stdout, "refused\nrefused\n");
    assertSaid(judged, exited(1));
  });

  test("by the shell's ulimit", async () => {
    assertSaid(await boxes().judged("python", "lowers-limits-by-shell"), exited(1));
  });

  test("limits for which no verdict stands may be read and lowered, and nothing counts", async () => {
    assertSaid(await boxes().judged("c", "lowers-harmless-limits"), exited(5));
  });

  test("the limits of real-time tasks, which send the same signal, are out of reach", async () => {
    const judged = await boxes().judged("c", "tries-to-be-real-time");
    assert.equal(judged.stdout, "EPERM\nEPERM\n");
    assertSaid(judged, exited(1));
  });
});

/** A quarter of a gigabyte, page by page: half a second, and in user-mode Linux twenty. */
const PATIENT = { limits: { wallMs: 60_000 * PATIENCE, cpuMs: 20_000 * PATIENCE } };

describe("memory", () => {
  test("words of the OOM killer and exit code 137 are RE", async () => {
    assertSaid(await boxes().judged("python", "prints-oom-messages"), exited(137));
  });

  test("meeting the limit with memory that can be taken back is AC: a peak at the limit proves nothing", async () => {
    const judged = await boxes().judged("c", "touches-the-memory-limit", PATIENT);
    assertSaid(judged, accepted);
    const { memoryPeakBytes, memoryLimitBytes, memoryLimitHits } = judged.facts;
    assert.ok(memoryPeakBytes > memoryLimitBytes * 0.95, `${memoryPeakBytes} of ${memoryLimitBytes}`);
    assert.ok(memoryLimitHits > 0, "the limit was met");
  });

  test("memory refused by the address-space limit is the program's to handle, whatever it says of it", async () => {
    assertSaid(await boxes().judged("c", "maps-too-much"), exited(137));
    assertSaid(await boxes().judged("python", "catches-memory-error"), exited(137));
  });

  test("a child that is killed for memory makes the run MLE, though its parent would exit 0", async () => {
    const judged = await boxes().judged("c", "child-is-killed-for-memory", PATIENT);
    const killReason = judged.facts.backend === "cgroup_v2" ? "none" : "oom"; // v2 ends the group by itself
    const { oomKills } = judged.facts;
    assert.ok(oomKills > 0);
    const killed = { ...accepted, exitCode: null, signal: 9, killReason, oomKills };
    assertSaid(judged, { ...killed, verdict: "MLE", cause: "oom_kill", actor: "kernel" });
  });
});

describe("limits that a program copes with", () => {
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

  test("a caught EFBIG and exit 3 are FSE, where the kernel counts them", async () => {
    const judged = await boxes().judged("c", "copes-with-a-full-file", { stdin: "3" });
    const full = { ...exited(3), fsizeSignals: 1, verdict: "FSE", cause: "file_size_limit", actor: "kernel" };
    assertSaid(judged, countsSignals(judged) ? full : exited(3));
  });
});

test("thousands of short children are TLE: the CPU time of all of them counts", async () => {
  const judged = await boxes().judged("c", "many-short-children", { limits: { cpuMs: 600, wallMs: 20_000 } });
  assertSaid(judged, cpuTimeout);
  assert.ok(judged.facts.cpuUsec >= 600_000);
});

describe("a program cannot make its start fail and have that taken for our failure", () => {
  for (const language of ["c", "rust"]) {
    test(`it spoils the name of its loader (${language}): the linker's own name stays in force`, async () => {
      assertSaid(await boxes().judged(language, "asks-for-another-loader"), accepted);
    });
  }

  test("it is no program but a library (rust): that does not compile", async () => {
    assertSaid(await boxes().judged("rust", "is-a-library"), { ...exited(1), cause: "compile_error" });
  });

  test("it is larger than its limits allow: the kernel ends it in the middle of the exec", async () => {
    assertSaid(await boxes().judged("c", "larger-than-its-limits"), signalled(11));
  });
});
