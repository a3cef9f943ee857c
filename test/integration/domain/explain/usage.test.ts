import assert from "node:assert/strict";
import { test } from "node:test";
import { cutStreams, type Usage, usage } from "../../../../src/domain/explain/usage.ts";
import type { Plan } from "../../../../src/worker/plan.ts";
import { runStats } from "../../../../src/worker/run-stats.ts";
import { ENDS, recordOf } from "../../../support/domain/explain/records.ts";
import { LIMITS } from "../../../support/sandbox/steps.ts";
import { report } from "../../../support/verdict/reports.ts";

const PLAN = { execute: { limits: LIMITS } } as Plan;

const metOf = (rows: readonly Usage[]) => rows.filter(({ met }) => met).map(({ name }) => name);

test("lists usage with the limit in force", () => {
  const steps = {
    execute: report({ stdout: Buffer.from("four"), stdoutSeen: 9_999, processPeak: 3, wallNs: 1_500_000_000 }),
  };
  assert.deepEqual(usage(recordOf(steps), runStats(steps, PLAN)), [
    { name: "memory", used: 9_000_000, limit: 268_435_456, unit: "bytes", met: false },
    { name: "processes", used: 3, limit: 10, unit: "count", met: false },
    { name: "cpu", used: 10, limit: LIMITS.cpuMs, unit: "ms", met: false },
    { name: "wall", used: 1_500, limit: LIMITS.wallMs, unit: "ms", met: false },
    { name: "stdout", used: 9_999, limit: LIMITS.stdoutBytes, unit: "bytes", met: false },
    { name: "stderr", used: 0, limit: LIMITS.stderrBytes, unit: "bytes", met: false },
  ]);
});

test("marks the limit of output that was met, which ends no run", () => {
  const steps = { execute: report({ stdoutSeen: 20 * LIMITS.stdoutBytes }) };
  assert.deepEqual(metOf(usage(recordOf(steps), runStats(steps, PLAN))), ["stdout"]);
});

test("marks the limit that ended the run", () => {
  const met = Object.fromEntries(
    Object.entries(ENDS).map(([name, execute]) => [
      name,
      metOf(usage(recordOf({ execute }), runStats({ execute }, PLAN))),
    ]),
  );
  assert.deepEqual(met, {
    "MLE oom_kill kernel": ["memory"],
    "PLE pids_limit kernel": ["processes"],
    "FSE file_size_limit kernel": [],
    "FSE file_size_limit kernel, without BPF": [],
    "TLE wall_timeout judge": ["wall"],
    "TLE cpu_timeout judge": ["cpu"],
    "TLE cpu_timeout judge, in exit": ["cpu"],
    "TLE cpu_timeout kernel": ["cpu"],
    "TLE cpu_timeout kernel, at the rlimit": ["cpu"],
    "SIG fatal_signal runtime": [],
    "RE nonzero_exit runtime": [],
    "AC normal_exit runtime": [],
  });
});

test("names exactly the stream that was cut", () => {
  const cut = (changes: Parameters<typeof report>[0]) => {
    const steps = { execute: report(changes) };
    return cutStreams(recordOf(steps).output.integrity, runStats(steps, PLAN));
  };
  const most = { stdout: LIMITS.stdoutBytes + 1, stderr: LIMITS.stderrBytes + 1 };
  assert.deepEqual(cut({}), []);
  assert.deepEqual(cut({ stdoutSeen: most.stdout }), ["stdout"]);
  assert.deepEqual(cut({ stderrSeen: most.stderr }), ["stderr"]);
  const compile = report({ exitCode: 1, stdoutSeen: most.stdout });
  assert.deepEqual(cutStreams("truncated_by_judge_limit", runStats({ compile }, PLAN)), ["stderr"]);
  assert.equal(cutStreams("truncated_by_judge_limit"), null);
});

test("an old record has only usage from evidence, and a program that did not run has none", () => {
  assert.deepEqual(
    usage(recordOf({ execute: report() })).map(({ name }) => name),
    ["memory", "processes"],
  );
  const compile = ENDS["MLE oom_kill kernel"] ?? assert.fail();
  assert.deepEqual(usage(recordOf({ compile }), runStats({ compile }, PLAN)), []);
});
