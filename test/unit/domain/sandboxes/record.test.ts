import assert from "node:assert/strict";
import { test } from "node:test";
import { newExecution } from "../../../../src/domain/sandboxes/execution.ts";
import { newSandbox, type Sandbox, sandboxRequestHash } from "../../../../src/domain/sandboxes/sandbox.ts";
import {
  executionSchema,
  sandboxSchema,
  toExecutionRecord,
  toSandboxRecord,
} from "../../../../src/domain/sandboxes/sandbox-record.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../../support/sandboxes/caller.ts";
import { report, teardown } from "../../../support/verdict/reports.ts";

const key = { keyId: "key", accountId: "account" };
const created = newSandbox(sandboxRequest({ metadata: { a: "b" } }), callerOf(key), "here", 1_000);

test("the record of a sandbox follows its schema in every state, and says when its lifetime is over", () => {
  const running: Sandbox = {
    ...created,
    state: "running",
    startedAtMs: 2_000,
    evidence: { controls: ["seccomp_filter"], controlsMissing: [], teardown: null },
  };
  const ended = (changes: Parameters<typeof teardown>[0]): Sandbox => ({
    ...running,
    state: "ended",
    endReason: "idle",
    endedAtMs: 9_000,
    evidence: { controls: [], controlsMissing: [], teardown: teardown(changes) },
  });
  for (const one of [created, running, ended({})]) assert.doesNotThrow(() => sandboxSchema.parse(toSandboxRecord(one)));
  assert.equal(toSandboxRecord(created).timestamps.expires_at, null);
  assert.equal(toSandboxRecord(running).timestamps.expires_at, "1970-01-01T01:00:02.000Z");
  const verified = (changes: Parameters<typeof teardown>[0]) =>
    toSandboxRecord(ended(changes)).evidence.teardown.cleanup_verified;
  assert.deepEqual([verified({}), toSandboxRecord(running).evidence.teardown.cleanup_verified], [true, null]);
  for (const left of [{ pidsLeft: 1 }, { groupsLeft: ["g"] }, { populated: null }, { unreadFacts: ["x"] }])
    assert.equal(verified(left), false);
});

test("the record of an execution has the groups of a record of schema 2.0, and never its environment or input", () => {
  const request = shellRequest("make", { env: { TOKEN: "secret" }, stdin: Buffer.from("secret"), cwd: "src" });
  const execution = newExecution(created, 3, request, 5_000);
  const record = toExecutionRecord(execution);
  assert.doesNotThrow(() => executionSchema.parse(record));
  assert.deepEqual(
    [record.number, record.cwd, record.result.verdict, record.evidence],
    [3, "/home/user/src", null, null],
  );
  const outcome = buildOutcome({ execute: report({ stdout: Buffer.from("made\n"), exitCode: 2 }) });
  const ended = toExecutionRecord({
    ...execution,
    status: "completed",
    completedAtMs: 6_000,
    outcome,
    processesLeft: 1,
  });
  assert.doesNotThrow(() => executionSchema.parse(ended));
  assert.deepEqual(
    [
      ended.result.verdict,
      ended.result.exit_code,
      ended.output.stdout,
      ended.processes_left,
      ended.evidence?.isolation.mode,
    ],
    ["RE", 2, "made\n", 1, "strict"],
  );
  assert.ok(!JSON.stringify(ended).includes("secret"));
});

test("the hash of a request depends on each of its fields, and not on the order of names", () => {
  const request = sandboxRequest({ env: { A: "1", B: "2" } });
  assert.equal(sandboxRequestHash(request), sandboxRequestHash({ ...request, env: { B: "2", A: "1" } }));
  const others = [
    { limits: { ...request.limits, inodes: 999 } },
    { lifetimeSecs: 1 },
    { idleSecs: 1 },
    { env: { A: "1" } },
    { metadata: { A: "1" } },
  ].map((change) => sandboxRequestHash({ ...request, ...change }));
  assert.equal(new Set([sandboxRequestHash(request), ...others]).size, 6);
});

test("a record has the beginning of long arguments and of a long command, and says so", () => {
  const argv = (words: readonly string[]) =>
    newExecution(created, 1, { ...shellRequest(""), kind: "argv", argv: words }, 1);
  const shell = (command: string) => newExecution(created, 1, shellRequest(command), 1);
  const short = argv(["a", "b".repeat(100), ""]);
  assert.deepEqual([short.argv, short.truncated], [["a", "b".repeat(100), ""], false]);
  assert.deepEqual([shell("x".repeat(4_096)).truncated, shell("x".repeat(4_097)).truncated], [false, true]);
  const hostile = [
    argv(Array(128).fill("\u0001".repeat(1_000))),
    argv(Array(128).fill("")),
    shell("\u{1f600}".repeat(16_384)),
  ];
  for (const { argv: words, shell: command } of hostile)
    assert.ok(Buffer.byteLength(JSON.stringify(words ?? command)) <= 4_100);
  assert.ok(hostile[2]?.shell?.isWellFormed() && hostile[2].truncated);
  assert.deepEqual([hostile[1]?.argv?.length, hostile[0]?.truncated], [128, true]);
});
