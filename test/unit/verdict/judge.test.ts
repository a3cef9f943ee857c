import assert from "node:assert/strict";
import { test } from "node:test";
import { RULES } from "../../../src/domain/causes.ts";
import type { RunVerdict } from "../../../src/domain/outcome.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { judge, judgeStep } from "../../../src/verdict/judge.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

const short = ({ verdict, cause, actor }: RunVerdict) => `${verdict} ${cause} ${actor}`;

/** One report for each row of the table, in order, with evidence for that row and for none above it. */
const ROWS: readonly [string, StepReport, string][] = [
  ["oom kill", signalled(9, { oomKills: 1, oomEvents: 1 }), "MLE oom_kill kernel"],
  ["refused fork", report({ exitCode: 1, forksRefused: 3 }), "PLE pids_limit kernel"],
  ["kernel SIGXFSZ, ignored by the runtime", report({ exitCode: 1, fsizeSignals: 1 }), "FSE file_size_limit kernel"],
  ["died of SIGXFSZ, no BPF", signalled(25, { signalSource: "none" }), "FSE file_size_limit kernel"],
  ["wall timer", signalled(9, { killReason: "wall" }), "TLE wall_timeout judge"],
  ["CPU budget", signalled(9, { killReason: "cpu" }), "TLE cpu_timeout judge"],
  ["CPU time beyond the budget, spent in exit", report({ cpuUsec: 12e6 }), "TLE cpu_timeout judge"],
  ["kernel SIGXCPU", signalled(24, { cpuRlimitSignals: 1, cpuUsec: 3e6 }), "TLE cpu_timeout kernel"],
  [
    "died of SIGXCPU with the time spent, no BPF",
    signalled(24, { signalSource: "none", cpuUsec: 4e6 }),
    "TLE cpu_timeout kernel",
  ],
  ["any other signal", signalled(11), "SIG fatal_signal runtime"],
  ["non-zero exit", report({ exitCode: 7 }), "RE nonzero_exit runtime"],
  ["clean exit", report(), "AC normal_exit runtime"],
];

test("every row of the table decides on its own evidence", async (t) => {
  assert.equal(ROWS.length, RULES.length);
  for (const [index, [name, facts, expected]] of ROWS.entries()) {
    await t.test(name, () => {
      assert.equal(short(judgeStep(facts)), expected);
      assert.equal(
        RULES.findIndex((row) => row.when(facts)),
        index,
      );
    });
  }
});

test("accepts an OOM kill below the memory limit if the kernel memory bound had lowered the limit", () => {
  const lowered = {
    oomKills: 1,
    oomEvents: 1,
    memoryPeakBytes: 20_000_000,
    memoryLimitHits: 0,
    kernelBytes: 50_331_649,
  };
  const judgement = judgeStep(signalled(9, lowered));
  assert.equal(short(judgement), "MLE oom_kill kernel");
  assert.match(judgement.errorMessage ?? "", /50331649 bytes in the kernel .* where a run may have 48 MiB/);
  assert.equal(judgeStep(signalled(9, { ...lowered, kernelBytes: 50_331_648 })).verdict, "IE");
});

test("the first matching row decides", () => {
  const everything: Partial<StepReport> = { oomKills: 1, forksRefused: 1, fsizeSignals: 1, cpuRlimitSignals: 1 };
  const chain: [Partial<StepReport>, string][] = [
    [everything, "MLE oom_kill kernel"],
    [{ ...everything, oomKills: 0 }, "PLE pids_limit kernel"],
    [{ ...everything, oomKills: 0, forksRefused: 0 }, "FSE file_size_limit kernel"],
    [{ cpuRlimitSignals: 1 }, "TLE wall_timeout judge"],
  ];
  for (const [changes, expected] of chain) {
    assert.equal(short(judgeStep(signalled(9, { ...changes, killReason: "wall" }))), expected);
  }
});

test("a program that handles a refusal and exits 0 is AC", () => {
  assert.equal(short(judgeStep(report({ forksRefused: 5 }))), "AC normal_exit runtime");
  assert.equal(short(judgeStep(report({ fsizeSignals: 2 }))), "AC normal_exit runtime");
  assert.equal(
    short(judgeStep(report({ memoryPeakBytes: 268_435_456, memoryLimitHits: 9 }))),
    "AC normal_exit runtime",
  );
});

test("an exceeded time limit is TLE even with exit code 0", () => {
  assert.equal(short(judgeStep(report({ cpuRlimitSignals: 1, cpuUsec: 3e6 }))), "TLE cpu_timeout kernel");
  assert.equal(short(judgeStep(report({ killReason: "wall" }))), "TLE wall_timeout judge");
});

test("an OOM kill of a child is MLE regardless of the parent's exit code", () => {
  assert.equal(short(judgeStep(report({ oomKills: 1 }))), "MLE oom_kill kernel");
});

test("a signal that a program sends to itself is SIG", async (t) => {
  for (const signal of [9, 24, 25, 31]) {
    await t.test(`signal ${signal}`, () => {
      assert.equal(short(judgeStep(signalled(signal))), "SIG fatal_signal runtime");
      // Without BPF, only SIGXFSZ itself indicates the file-size limit.
      const uncounted = short(judgeStep(signalled(signal, { signalSource: "none" })));
      assert.equal(uncounted, signal === 25 ? "FSE file_size_limit kernel" : "SIG fatal_signal runtime");
    });
  }
});

test("SIGKILL at the hard CPU limit is attributed to the kernel only if the time was spent", () => {
  assert.equal(short(judgeStep(signalled(9, { cpuUsec: 5e6 }))), "TLE cpu_timeout kernel");
  assert.equal(short(judgeStep(signalled(9, { cpuUsec: 4.9e6 }))), "SIG fatal_signal runtime");
});

test("exit code and signal are separate, and the message names the cause", () => {
  const killed = judgeStep(signalled(11));
  assert.deepEqual([killed.exitCode, killed.signal], [null, 11]);
  assert.equal(killed.errorMessage, "killed by signal 11 (SIGSEGV)");
  const failed = judgeStep(report({ exitCode: 139 }));
  assert.deepEqual([failed.exitCode, failed.signal, failed.verdict], [139, null, "RE"]);
  assert.equal(failed.errorMessage, "exited with code 139");
  assert.equal(judgeStep(report()).errorMessage, null);
  assert.match(judgeStep(signalled(9, { killReason: "wall", wallNs: 10_002_000_000 })).errorMessage ?? "", /10\.002 s/);
  assert.match(judgeStep(signalled(9, { oomKills: 1 })).errorMessage ?? "", /256 MiB/);
  assert.match(judgeStep(report({ exitCode: 1, forksRefused: 1 })).errorMessage ?? "", /limit of 10/);
});

test("a failed compile step decides alone", async (t) => {
  const cases: [string, StepReport, string][] = [
    ["diagnostics", report({ exitCode: 1 }), "RE compile_error runtime"],
    ["a compiler that crashed", signalled(11), "RE compile_error runtime"],
    ["memory", signalled(9, { oomKills: 1 }), "MLE compile_oom_kill kernel"],
    ["processes", report({ exitCode: 1, forksRefused: 1 }), "PLE compile_pids_limit kernel"],
    ["file size", report({ exitCode: 1, fsizeSignals: 1 }), "FSE compile_file_size_limit kernel"],
    ["wall time", signalled(9, { killReason: "wall" }), "TLE compile_wall_timeout judge"],
    ["CPU time", signalled(9, { killReason: "cpu" }), "TLE compile_cpu_timeout judge"],
    ["platform", report({ controlsMissing: ["seccomp: not read back"] }), "IE internal_error judge"],
  ];
  for (const [name, compile, expected] of cases) {
    await t.test(name, () => assert.equal(short(judge({ compile })), expected));
  }
});

test("after a successful compile step, the execute step decides", () => {
  const judgement = judge({ compile: report(), execute: report({ exitCode: 3 }) });
  assert.equal(short(judgement), "RE nonzero_exit runtime");
  assert.equal(judge({ compile: report({ exitCode: 1 }) }).exitCode, 1);
});

test("missing or contradictory steps are an internal error", () => {
  assert.equal(judge({}).verdict, "IE");
  assert.equal(judge({ compile: report() }).verdict, "IE");
  assert.equal(judge({ compile: report({ exitCode: 1 }), execute: report() }).verdict, "IE");
});
