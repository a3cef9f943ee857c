import { test } from "node:test";
import fc from "fast-check";
import type { StepReport } from "../../../src/domain/report.ts";
import { judge, judgeStep } from "../../../src/verdict/judge.ts";
import { report } from "../../support/verdict/reports.ts";

/** All values in a report that the program controls: its end and its output. */
const programControlled: fc.Arbitrary<Partial<StepReport>> = fc
  .record({
    end: fc.oneof(
      fc.integer({ min: 0, max: 255 }).map((exitCode) => ({ exitCode, signal: null })),
      fc.integer({ min: 1, max: 64 }).map((signal) => ({ exitCode: null, signal })),
    ),
    stdout: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    stderr: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    discarded: fc.nat(5_000_000),
    wallNs: fc.nat(3_000_000_000),
    // Below the limit: a program that exceeds it has really used the time, and TLE is correct.
    cpuUsec: fc.nat(2_999_999),
    // A tick can be charged to a process that slept through it. Only time counted by the group decides.
    cpuRlimitSignals: fc.nat(2),
    memoryPeakBytes: fc.nat(268_435_456),
    memoryLimitHits: fc.nat(1000),
    oomEvents: fc.nat(10),
    processPeak: fc.integer({ min: 1, max: 10 }),
    survivors: fc.nat(9),
    outputAgeUsec: fc.option(fc.nat(1_000_000)),
    readError: fc.boolean(),
  })
  .map(({ end, discarded, ...facts }) => ({
    ...facts,
    ...end,
    stdoutKept: facts.stdout.length,
    stderrKept: facts.stderr.length,
    stdoutSeen: facts.stdout.length + discarded,
    stderrSeen: facts.stderr.length,
  }));

test("no value that a program controls causes MLE, PLE, FSE, TLE or IE", () => {
  fc.assert(
    fc.property(programControlled, (facts) => {
      const { verdict, exitCode, signal } = judgeStep(report(facts));
      const own = signal !== null ? "SIG" : exitCode === 0 ? "AC" : "RE";
      return verdict === own;
    }),
    { numRuns: 2_000 },
  );
});

test("without BPF, only the end by SIGXFSZ can be forged", () => {
  fc.assert(
    fc.property(programControlled, (facts) => {
      const { verdict } = judgeStep(report({ ...facts, cpuRlimitSignals: 0, signalSource: "none" }));
      return ["AC", "RE", "SIG"].includes(verdict) || (verdict === "FSE" && facts.signal === 25);
    }),
    { numRuns: 2_000 },
  );
});

test("a program cannot hide an OOM kill, a refused fork that made it fail, or a timeout", () => {
  fc.assert(
    fc.property(programControlled, fc.integer({ min: 1, max: 99 }), (facts, count) => {
      const { memoryLimitBytes, processLimit } = report();
      const killed = { oomKills: count, oomEvents: count, memoryPeakBytes: memoryLimitBytes };
      const memory = judgeStep(report({ ...facts, ...killed })).verdict === "MLE";
      const wall = judgeStep(report({ ...facts, killReason: "wall" })).verdict === "TLE";
      const refused = judgeStep(report({ ...facts, forksRefused: count, processPeak: processLimit })).verdict;
      return memory && wall && refused === (facts.exitCode === 0 ? "AC" : "PLE");
    }),
    { numRuns: 2_000 },
  );
});

test("every combination of facts has a verdict, and only AC has no message", () => {
  const anything = fc.record({
    killReason: fc.constantFrom("none", "wall", "cpu", "oom", "client"),
    oomKills: fc.nat(2),
    forksRefused: fc.nat(2),
    fsizeSignals: fc.nat(2),
    cpuRlimitSignals: fc.nat(2),
    signalSource: fc.constantFrom("bpf", "none"),
    exitCode: fc.option(fc.integer({ min: -1, max: 300 })),
    signal: fc.option(fc.integer({ min: -1, max: 70 })),
  });
  fc.assert(
    fc.property(anything, anything, (first, second) => {
      const compile = report(first as Partial<StepReport>);
      const execute = report(second as Partial<StepReport>);
      return [judge({ compile }), judge({ execute }), judge({ compile, execute })].every(
        ({ verdict, errorMessage }) => (verdict === "AC") === (errorMessage === null),
      );
    }),
    { numRuns: 2_000 },
  );
});
