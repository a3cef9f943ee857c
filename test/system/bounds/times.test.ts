import assert from "node:assert/strict";
import { cpus, loadavg } from "node:os";
import { describe, test } from "node:test";
import { CPU_LATE_RATIO, CPU_LATE_USEC } from "../../../src/domain/causes.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, cpuTicks } from "../../support/launcher/machine.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { source } from "../../support/programs/product.ts";
import { type Judged, judgedOn, useBoxes } from "../forgery/boxes.ts";
import { connected, run, step } from "../launcher/raw.ts";

const boxes = useBoxes();

/** The longest allowed time from a deadline to the proven end of the box, on a machine with a spare CPU. */
const END_MS = 250;
/**
 * The kernel removes mappings and page table entries one by one. Measured CPU time for each charged MiB: 1.7 ms for
 * anonymous mappings, 2 ms for file mappings, 3 ms for full page tables. Only the memory limit bounds their number.
 */
const END_MS_PER_MIB = 4;
/** The share of a program's run time that the slot may spend on its output as CPU time. */
const SLOT_SHARE = 0.05;
const [WALL_MS, CPU_MS] = SKIPS_LONG ? [1000, 700] : [1500, 1000];

/** Programs whose end is slow: mode, and number of processes; `many` is the maximum of the profile. */
const SLOW: readonly (readonly [way: string, processes: "one" | "many"])[] = [
  ["burn", "many"],
  ["mappings", "one"],
  ["mappings", "many"],
  ["file-mappings", "many"],
  ["full-tables", "one"],
  ["full-tables", "many"],
  ["page-tables", "one"],
  ["page-tables", "many"],
  ["descriptors", "many"],
  ["circles", "one"],
  ["circles", "many"],
  ["exits", "many"],
  ["vforks", "many"],
  ["tree", "one"],
  ["stopped", "many"],
  ["holes", "one"],
  ["holes", "many"],
  ["truncations", "one"],
  ["truncations", "many"],
  ["fewer-truncations", "many"],
  ["pagemaps", "one"],
  ["pagemaps", "many"],
  ["memory-of-living", "many"],
  ["copies", "many"],
  ["advice", "one"],
  ["advice", "many"],
  ["moves", "one"],
];

/** Modes whose end takes time in proportion to their memory. */
const PROPORTIONAL = ["mappings", "file-mappings", "full-tables", "copies", "advice", "moves"];

/** Modes that need more addresses than a program in C has in `judge`. */
const isOfAgent = ([way]: (typeof SLOW)[number]) => way === "advice" || way === "moves";

const FLOODS = ["flood", "flood-bytes"];

/** By how much other work of the machine may prolong times. */
const loadFactor = () => Math.max(1, (loadavg()[0] ?? 0) / cpus().length);

/** Time from the kill to the last process's end, and from the report to the proven end. */
const endMs = ({ facts }: Judged) => facts.endUsec / 1e3 + facts.spentMs.teardown;

for (const profile of PROFILE_NAMES) {
  describe(`a box ends in time with any program (${profile})`, () => {
    for (const [way, processes] of SKIPS_LONG && profile === "agent" ? SLOW.filter(isOfAgent) : SLOW) {
      test(`${way}, ${processes}`, async (t) => {
        const count = processes === "one" ? 1 : profile === "judge" ? 9 : 60;
        const limits = { wallMs: WALL_MS, cpuMs: CPU_MS };
        const judged = await boxes().judgedCode("c", source("c", "ends/ends-slowly"), {
          profile,
          limits,
          stdin: `${way} ${count}`,
        });
        const { facts, outcome } = judged;
        t.diagnostic(
          `${Math.round(endMs(judged))} ms; ${facts.cpuUsec / 1e3} ms of CPU; ${Math.round(facts.memoryPeakBytes / 1_048_576)} MiB; ${outcome.result.verdict}`,
        );
        assert.notEqual(outcome.result.verdict, "IE", outcome.result.errorMessage ?? "");
        assert.equal(outcome.evidence?.teardown.cleanupVerified, true);
        const heldMib = facts.memoryPeakBytes / 1_048_576;
        const bound = END_MS + (PROPORTIONAL.includes(way) ? END_MS_PER_MIB * heldMib : 0);
        assert.ok(endMs(judged) < bound * loadFactor(), `${endMs(judged)} ms from the deadline to the end`);
        // Not a call of seconds, during which the slot cannot look at the limits either.
        if (isOfAgent([way, processes]))
          assert.ok(facts.cpuUsec / 1e3 < 2 * WALL_MS, `${facts.cpuUsec / 1e3} ms of CPU time`);
        const late = facts.cpuUsec > CPU_MS * 1e3 * CPU_LATE_RATIO + CPU_LATE_USEC;
        if (late) assert.ok(["TLE", "MLE", "PLE"].includes(outcome.result.verdict), outcome.result.verdict);
      });
    }
  });
}

/**
 * Without the kernel memory bound, 60 processes have time to create so many mappings that the kernel walks them for a
 * minute. The last mode stays just below the bound.
 */
const WHOLE_TIME: readonly (readonly [way: string, cause: string])[] = [
  ["mappings", "oom_kill"],
  ["truncations", "oom_kill"],
  ["fewer-truncations", "cpu_timeout"],
];

for (const profile of SKIPS_LONG ? PROFILE_NAMES.slice(0, 1) : PROFILE_NAMES) {
  for (const [way, cause] of WHOLE_TIME) {
    test(`${way}, many, with the whole time of ${profile}: ${cause}`, async (t) => {
      const count = profile === "judge" ? 9 : 60;
      const code = source("c", "ends/ends-slowly");
      const judged = await boxes().judgedCode("c", code, { profile, stdin: `${way} ${count}` });
      const { result } = judged.outcome;
      t.diagnostic(`${Math.round(endMs(judged))} ms; ${judged.facts.cpuUsec / 1e3} ms of CPU; ${result.errorMessage}`);
      assert.equal(result.cause, cause);
      if (cause === "oom_kill") assert.match(result.errorMessage ?? "", /in the kernel/);
      assert.ok(endMs(judged) < END_MS * loadFactor(), `${endMs(judged)} ms from the kill to the end`);
    });
  }
}

/**
 * All processes or threads let the kernel walk page tables in calls that signals do not interrupt. Without
 * launcher/supervise/kill.c, the end took 3 to 24 s, or the run was IE. Only `judge` limits the address space of such a program,
 * and with it the time of a call.
 */
const WALKS = [
  "rollup-of-living",
  "rollup-of-ended",
  "rollup-of-executed",
  "rollup-of-one-mapping",
  "rollup-of-brief",
  "smaps-from-afar",
  "smaps-of-scattered",
  "end-of-scattered",
  "pagemap-of-ended",
  "frees",
];

/** Two numbers of page tables of 4 KiB: more than the bound for 60 tasks, and what just fits. Those of shared memory count four times. */
const TABLES: readonly (readonly [tables: number, cause: string])[] = [
  [12_000, "oom_kill"],
  [590, "cpu_timeout"],
];
const PRIVATE_TABLES: typeof TABLES = [
  [12_000, "oom_kill"],
  [2_300, "cpu_timeout"],
];

/** So many page tables that two tasks have before they become 60 tasks, which walk them between two checks. */
const AT_ONCE = [5_000, "oom_kill"] as const;

/** Two numbers of page tables of one process: too many, and as many as fit. They count as if at least eight tasks walked them. */
const ENDS: typeof TABLES = [
  [19_000, "oom_kill"],
  [4_500, "wall_timeout"],
];

function tablesOf(way: string): typeof TABLES {
  if (way === "end-of-scattered") return ENDS;
  if (way === "rollup-of-one-mapping" || way === "frees") return PRIVATE_TABLES;
  return way === "rollup-of-brief" ? [...TABLES, AT_ONCE] : TABLES;
}

for (const way of WALKS) {
  for (const [tables, cause] of tablesOf(way)) {
    test(`${way}, 60 tasks and ${tables} page tables: ${cause}`, async (t) => {
      const code = source("c", "ends/ends-slowly");
      // Some need seconds of CPU time before they exceed the bound: to scatter their memory, or to fill all page tables in one process.
      const isPrepared = way.endsWith("scattered") || way === "frees";
      const limits = isPrepared ? { cpuMs: 8000, wallMs: 15_000 } : { cpuMs: 3000, wallMs: 30_000 };
      const judged = await boxes().judgedCode("c", code, { profile: "agent", limits, stdin: `${way} 60 ${tables}` });
      const { facts, outcome } = judged;
      const walkableMib = facts.walkableBytes / 1_048_576;
      t.diagnostic(
        `${Math.round(endMs(judged))} ms; ${facts.cpuUsec / 1e3} ms of CPU; ${Math.round(facts.kernelBytes / 1_048_576)} MiB, ${Math.round(walkableMib)} with all tasks`,
      );
      assert.equal(outcome.result.cause, cause, outcome.result.errorMessage ?? "");
      if (cause === "oom_kill") assert.match(outcome.result.errorMessage ?? "", /page tables of one process/);
      assert.equal(outcome.evidence?.teardown.cleanupVerified, true);
      // What exceeds the bound is ended before all tasks are in a call.
      const bound = END_MS + END_MS_PER_MIB * Math.min(walkableMib, facts.walkableLimitBytes / 1_048_576);
      assert.ok(endMs(judged) < bound * loadFactor(), `${endMs(judged)} ms from the kill to the end`);
    });
  }
}

test("two boxes that become too large at once end without an error of the judge", async (t) => {
  const launcher = await startLauncher({ slots: 2 });
  t.after(() => launcher.stop());
  const slots = await Promise.all([Slot.open(launcher.socket), Slot.open(launcher.socket)]);
  const limits = { cpuMs: 5000, wallMs: 30_000 };
  const trial = { profile: "agent", limits, stdin: `rollup-of-brief 60 ${AT_ONCE[0]}` } as const;
  const others = loadFactor();
  const both = await Promise.all(slots.map((slot) => judgedOn(slot, "c", source("c", "ends/ends-slowly"), trial)));
  for (const slot of slots) slot.close();
  for (const judged of both) {
    t.diagnostic(`${Math.round(endMs(judged))} ms, ${Math.round(judged.facts.walkableBytes / 1_048_576)} MiB`);
    assert.equal(judged.outcome.result.verdict, "MLE", judged.outcome.result.errorMessage ?? "");
    assert.equal(judged.outcome.evidence?.teardown.cleanupVerified, true);
    // They need all CPUs of a small machine.
    const bound = 2 * (END_MS + (END_MS_PER_MIB * judged.facts.walkableLimitBytes) / 1_048_576);
    assert.ok(endMs(judged) < bound * others, `${endMs(judged)} ms from the kill to the end`);
  }
});

test("60,000 mappings of the same memory make no call long", async (t) => {
  const limits = { cpuMs: 2000, wallMs: 30_000 };
  const judged = await boxes().judgedCode("c", source("c", "ends/ends-slowly"), {
    profile: "agent",
    limits,
    stdin: "copies 24",
  });
  const { facts, outcome } = judged;
  t.diagnostic(`${Math.round(endMs(judged))} ms; ${facts.cpuUsec / 1e3} ms of CPU; ${facts.kernelBytes >> 20} MiB`);
  assert.equal(outcome.result.cause, "cpu_timeout", outcome.result.errorMessage ?? "");
  assert.equal(outcome.evidence?.teardown.cleanupVerified, true);
  assert.ok(
    facts.cpuUsec < limits.cpuMs * 1e3 * CPU_LATE_RATIO + CPU_LATE_USEC + 4e3 * (facts.kernelBytes >> 20),
    `${facts.cpuUsec} us`,
  );
  assert.ok(
    endMs(judged) < (END_MS + END_MS_PER_MIB * (facts.kernelBytes >> 20)) * loadFactor(),
    `${endMs(judged)} ms`,
  );
});

test("a larger memory limit, as in compile steps, permits no more page tables", async (t) => {
  const limits = { cpuMs: 3000, wallMs: 30_000, memoryBytes: 2048 * 1_048_576 };
  const code = source("c", "ends/ends-slowly");
  const stdin = "rollup-of-one-mapping 60 4600";
  const { facts, outcome } = await boxes().judgedCode("c", code, { profile: "agent", limits, stdin });
  t.diagnostic(`${facts.cpuUsec / 1e3} ms of CPU; ${Math.round(facts.walkableBytes / 1_048_576)} MiB with all tasks`);
  assert.equal(outcome.result.cause, "oom_kill", outcome.result.errorMessage ?? "");
  assert.ok(facts.cpuUsec < limits.cpuMs * 1e3 * CPU_LATE_RATIO + CPU_LATE_USEC, `${facts.cpuUsec} us`);
});

/** Heaps of runtimes are less dense than other memory, and runtimes have many threads. */
const HONEST: readonly (readonly [language: string, what: string, code: string])[] = [
  [
    "javascript",
    "a heap of 600 MiB and 8 workers",
    `const { Worker } = require("node:worker_threads");
    const all = [];
    for (let i = 0; i < 4_500_000; i++) all.push({ i, text: "number " + i });
    let left = 8;
    for (let i = 0; i < 8; i++)
      new Worker("setTimeout(() => {}, 300)", { eval: true }).on("exit", () => --left || console.log(all.length));`,
  ],
  [
    "javascript",
    "24 idle workers",
    `const { Worker } = require("node:worker_threads");
    let left = 24;
    for (let i = 0; i < 24; i++)
      new Worker("setTimeout(() => {}, 1500)", { eval: true }).on("exit", () => --left || console.log("all"));`,
  ],
  [
    "java",
    "a heap of 400 MiB and 40 threads",
    `public class Main {
      public static void main(String[] args) throws Exception {
        java.util.List<byte[]> all = new java.util.ArrayList<>();
        for (int i = 0; i < 400; i++) all.add(new byte[1 << 20]);
        for (int i = 0; i < 40; i++) new Thread(() -> { try { Thread.sleep(300); } catch (Exception e) { } }).start();
        System.out.println(all.size());
      }
    }`,
  ],
  [
    "python",
    "40 forks of a process of 200 MiB",
    `import os, time
all = [str(i) for i in range(2500000)]
children = []
for i in range(40):
    child = os.fork()
    if child == 0:
        time.sleep(0.5)
        os._exit(0)
    children.append(child)
for child in children: os.waitpid(child, 0)
print(len(all))`,
  ],
];

for (const [language, what, code] of HONEST) {
  test(`an honest program stays below the bounds: ${language}, ${what}`, async (t) => {
    const { facts, outcome } = await boxes().judgedCode(language, code, { profile: "agent" });
    t.diagnostic(
      `${Math.round(facts.walkableBytes / 1_048_576)} of ${Math.round(facts.walkableLimitBytes / 1_048_576)} MiB, ${Math.round(facts.memoryPeakBytes / 1_048_576)} MiB of memory`,
    );
    assert.equal(outcome.result.verdict, "AC", outcome.result.errorMessage ?? "");
    assert.ok(facts.walkableBytes < facts.walkableLimitBytes / 1.5);
  });
}

describe("endless output uses little CPU time of the slot", () => {
  for (const flood of FLOODS) {
    test(flood, async (t) => {
      const wallMs = 4000;
      const code = source("c", "ends/ends-slowly");
      const running = boxes().judgedCode("c", code, { stdin: `${flood} 1`, limits: { wallMs, cpuMs: 4000 } });
      const slots = childrenOf(boxes().launcher.pid);
      const before = slots.map(cpuTicks);
      const { facts, outcome } = await running;
      const spent = slots
        .map((pid, index) => cpuTicks(pid) - (before[index] ?? 0))
        .reduce((sum, ticks) => sum + ticks, 0);
      t.diagnostic(`${facts.stdoutSeen / 1e6} MB; slot ${spent * 10} ms, program ${facts.cpuUsec / 1e3} ms`);
      assert.equal(outcome.result.verdict, "TLE");
      assert.ok(spent * 10 < wallMs * SLOT_SHARE, `${spent * 10} ms of CPU in the slot`);
    });
  }
});

test("a deadline is met although the next step's box cannot be built", async (t) => {
  const launcher = await startLauncher({ fault: "box_5_hangs" });
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  t.after(() => raw.close());
  // From now on, the slot builds the second step's box while the first step runs. The fifth box is the first of those.
  await run(raw, step(["/bin/true"], { MORE: 1 }));
  await run(raw, step(["/bin/true"], { KEEP_WORK: 1 }));
  const began = performance.now();
  const { ended } = await run(raw, step(["/bin/sleep", "60"], { MORE: 1, WALL_MS: 200 }));
  assert.equal(ended.text("KILL_REASON"), "wall");
  const wallMs = Number(ended.big("WALL_NS")) / 1e6;
  assert.ok(wallMs < 200 + END_MS * loadFactor(), `killed after ${wallMs} ms`);
  assert.ok(performance.now() - began < 5_000 * loadFactor());
});
