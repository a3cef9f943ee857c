import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLS } from "../../../src/domain/controls.ts";
import { internalError, type Outcome } from "../../../src/domain/outcome.ts";
import { toRecord } from "../../../src/domain/record.ts";
import type { Submission } from "../../../src/domain/submission.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

const pending: Submission = {
  id: "11111111-2222-4333-8444-555555555555",
  accountId: "account",
  keyId: "key",
  projectId: null,
  language: "python",
  profile: "judge",
  status: "pending",
  attempts: 0,
  createdAtMs: Date.UTC(2031, 0, 2, 3, 4, 5, 6),
  startedAtMs: null,
  completedAtMs: null,
  outcome: null,
};

const ended = (outcome: Outcome): Submission => ({
  ...pending,
  status: outcome.status,
  attempts: 1,
  startedAtMs: pending.createdAtMs + 1,
  completedAtMs: pending.createdAtMs + 1000,
  outcome,
});

const NOTHING_YET = {
  result: { verdict: null, cause: null, actor: null, exit_code: null, signal: null, error_message: null },
  output: { stdout: null, stderr: null, integrity: null },
  metrics: {
    cpu_time_secs: null,
    wall_time_secs: null,
    memory_peak_bytes: null,
    cpu_wall_ratio: null,
    divergence: null,
  },
  evidence: null,
};

test("a pending record has every field and no evidence", () => {
  assert.deepEqual(toRecord(pending), {
    id: "11111111-2222-4333-8444-555555555555",
    schema_version: "2.0",
    language: "python",
    profile: "judge",
    status: "pending",
    timestamps: { created_at: "2031-01-02T03:04:05.006Z", started_at: null, completed_at: null },
    ...NOTHING_YET,
  });
});

test("a completed record follows the contract, field by field", () => {
  const execute = signalled(9, {
    killReason: "wall",
    wallNs: 2_000_000_000,
    cpuUsec: 1_900_000,
    stdout: Buffer.from("héllo\n"),
    outputAgeUsec: 100,
  });
  assert.deepEqual(toRecord(ended(buildOutcome({ execute }))), {
    id: "11111111-2222-4333-8444-555555555555",
    schema_version: "2.0",
    language: "python",
    profile: "judge",
    status: "completed",
    timestamps: {
      created_at: "2031-01-02T03:04:05.006Z",
      started_at: "2031-01-02T03:04:05.007Z",
      completed_at: "2031-01-02T03:04:06.006Z",
    },
    result: {
      verdict: "TLE",
      cause: "wall_timeout",
      actor: "judge",
      exit_code: null,
      signal: 9,
      error_message: "wall time limit exceeded: killed after 2.000 s",
    },
    output: { stdout: "héllo\n", stderr: "", integrity: "crash_mid_write" },
    metrics: {
      cpu_time_secs: 1.9,
      wall_time_secs: 2,
      memory_peak_bytes: 9_000_000,
      cpu_wall_ratio: 0.95,
      divergence: "cpu_bound",
    },
    evidence: {
      isolation: {
        mode: "strict",
        controls_applied: [...CONTROLS],
        controls_missing: [],
        proc_policy: "hardened",
        sys_policy: "builtin-deny",
        pidfd_mode: "native",
        reason: "all controls applied and read back from the kernel (cgroup_v2)",
      },
      limits: {
        rlimits: {
          cpu_secs: { soft: 4, hard: 5 },
          as_bytes: { soft: 1_073_741_824, hard: 1_073_741_824 },
          nofile: { soft: 32, hard: 32 },
          nproc: { soft: 64, hard: 64 },
        },
        cgroup_backend: "cgroup_v2",
        cgroup: {
          memory_limit_bytes: 268_435_456,
          memory_peak_bytes: 9_000_000,
          oom_events: 0,
          oom_kill_events: 0,
          cpu_usage_usec: 1_900_000,
          process_count: 1,
          process_limit: 10,
        },
      },
      teardown: {
        reap_status: "clean",
        descendant_containment: "ok",
        zombie_count: 0,
        cleanup_verified: true,
        residual_mounts: [],
        collection_errors: [],
        judge_actions: [
          { action_type: "forced_kill", details: "SIGKILL to every process of the box: wall time limit" },
        ],
      },
    },
  });
});

test("judge_actions and unlimited rlimits are absent, not empty", () => {
  const { evidence } = toRecord(
    ended(buildOutcome({ execute: report({ rlimits: { nofile: { soft: 32, hard: 32 } } }) })),
  );
  assert.ok(evidence);
  assert.equal("judge_actions" in evidence.teardown, false);
  assert.deepEqual(evidence.limits.rlimits, { nofile: { soft: 32, hard: 32 } });
});

test("success has no error message, and a program that does not compile has no metrics", () => {
  const accepted = toRecord(ended(buildOutcome({ execute: report() })));
  assert.deepEqual(accepted.result, {
    verdict: "AC",
    cause: "normal_exit",
    actor: "runtime",
    exit_code: 0,
    signal: null,
    error_message: null,
  });
  const broken = toRecord(
    ended(buildOutcome({ compile: report({ exitCode: 1, stderr: Buffer.from("main.c:1: error") }) })),
  );
  assert.equal(broken.status, "completed");
  assert.deepEqual(broken.metrics, NOTHING_YET.metrics);
  assert.equal(broken.output.stderr, "main.c:1: error");
  assert.notEqual(broken.evidence, null);
});

test("an error has IE and a message, and no other results", () => {
  const record = toRecord(ended(internalError("the run was lost")));
  assert.equal(record.status, "error");
  assert.equal(record.result.verdict, "IE");
  assert.equal(record.result.error_message, "the run was lost");
  assert.deepEqual(record.output, NOTHING_YET.output);
  assert.deepEqual(record.metrics, NOTHING_YET.metrics);
  assert.equal(record.evidence, null);
});

test("decodes output as UTF-8 with U+FFFD for invalid bytes, and keeps a byte order mark", () => {
  const decoded = (stdout: Buffer, stdoutSeen = stdout.length) =>
    toRecord(ended(buildOutcome({ execute: report({ stdout, stdoutSeen }) }))).output.stdout;
  assert.equal(decoded(Buffer.from([0x61, 0xff, 0x62, 0x00])), "a\ufffdb\0");
  assert.equal(decoded(Buffer.from([0xef, 0xbb, 0xbf, 0x61])), "\ufeffa");
  assert.equal(decoded(Buffer.from([0x61, 0xc3])), "a\ufffd");
  assert.equal(decoded(Buffer.from([0x61, 0xc3]), 3), "a", "truncated in the middle of a character");
});

test("the ratio for a wall time of 0 is null", () => {
  const { metrics } = toRecord(ended(buildOutcome({ execute: report({ wallNs: 0 }) })));
  assert.equal(metrics.cpu_wall_ratio, null);
});
