import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLS } from "../../../src/domain/controls.ts";
import { evidence, withSandbox } from "../../../src/verdict/evidence.ts";
import { report, signalled, teardown } from "../../support/verdict/reports.ts";

test("evidence has the values read back for the deciding step", () => {
  const compile = report({ memoryPeakBytes: 111, cpuUsec: 222 });
  const execute = report({ memoryPeakBytes: 333, cpuUsec: 444, oomEvents: 5, oomKills: 6, processCount: 7 });
  const proof = evidence({ compile, execute });
  assert.deepEqual(proof?.limits, {
    rlimits: execute.rlimits,
    cgroupBackend: "cgroup_v2",
    memoryLimitBytes: 268_435_456,
    memoryPeakBytes: 333,
    oomEvents: 5,
    oomKills: 6,
    cpuUsec: 444,
    processCount: 7,
    processLimit: 10,
  });
  assert.equal(evidence({ compile })?.limits.memoryPeakBytes, 111);
});

test("the mode is strict if no control of any step is missing", () => {
  const strict = evidence({ compile: report(), execute: report() })?.isolation;
  assert.equal(strict?.mode, "strict");
  assert.equal(strict?.procPolicy, "hardened");
  const broken = evidence({ compile: report({ controlsMissing: ["a: 1"] }), execute: report() })?.isolation;
  assert.equal(broken?.mode, "incomplete");
  assert.deepEqual(broken?.controlsMissing, ["a: 1"]);
  const bare = evidence({ execute: report({ controls: [] }) })?.isolation;
  assert.deepEqual(
    bare?.controlsMissing,
    CONTROLS.map((control) => `${control}: was not reported`),
  );
  assert.deepEqual([strict?.sysPolicy, bare?.procPolicy, bare?.sysPolicy], ["builtin-deny", "none", "disabled"]);
});

test("clean-up is verified only if no step left anything", async (t) => {
  const clean = evidence({ compile: report(), execute: report() })?.teardown;
  assert.equal(clean?.cleanupVerified, true);
  assert.equal(clean?.reapStatus, "clean");
  assert.equal(clean?.descendantContainment, "ok");
  const leftovers = {
    "not reaped": { reaped: false },
    "still populated": { populated: true },
    "a process": { pidsLeft: 1 },
    "a zombie": { zombies: 1 },
    "a mount": { residualMounts: ["/box"] },
    "a group": { groupsLeft: ["/sys/fs/cgroup/assay-serve/slot-1"] },
    "an unread fact": { unreadFacts: ["pids.current: EIO"] },
  };
  for (const [name, left] of Object.entries(leftovers)) {
    await t.test(name, () => {
      const inCompile = evidence({ compile: report({ teardown: teardown(left) }), execute: report() })?.teardown;
      const inExecute = evidence({ execute: report({ teardown: teardown(left) }) })?.teardown;
      assert.equal(inCompile?.cleanupVerified, false);
      assert.equal(inExecute?.cleanupVerified, false);
    });
  }
  assert.equal(
    evidence({ execute: report({ teardown: teardown({ populated: null }) }) })?.teardown.cleanupVerified,
    true,
  );
});

test("a group that was not removed is listed by name, without the path of the host", () => {
  const left = teardown({ groupsLeft: ["/sys/fs/cgroup/assay-serve/slot-1"] });
  assert.deepEqual(evidence({ execute: report({ teardown: left }) })?.teardown.collectionErrors, [
    "cgroup not removed: slot-1",
  ]);
});

test("judge actions name the actions of the launcher and the step", () => {
  assert.deepEqual(evidence({ execute: report() })?.teardown.judgeActions, []);
  const killed = evidence({ execute: signalled(9, { killReason: "wall", survivors: 2 }) })?.teardown.judgeActions;
  assert.deepEqual(
    killed?.map(({ type }) => type),
    ["forced_kill", "descendant_kill"],
  );
  assert.match(killed?.[0]?.details ?? "", /wall time limit/);
  assert.match(killed?.[1]?.details ?? "", /2 processes/);
  const compile = evidence({ compile: signalled(9, { killReason: "cpu" }) })?.teardown.judgeActions;
  assert.match(compile?.[0]?.details ?? "", /^compile step: .*CPU/);
});

test("there is no evidence without a box", () => {
  assert.equal(evidence({}), null);
  assert.equal(evidence({ execute: report({ failure: { step: "fork", object: "", errno: 11 } }) }), null);
});

test("the evidence of a run in a sandbox of its own has the controls and leftovers of both", () => {
  const run = evidence({ execute: signalled(9, { killReason: "wall" }) });
  assert.ok(run);
  const controls = [CONTROLS[0], "no_route_out"];
  const clean = withSandbox(run, { controls, teardown: teardown() });
  assert.deepEqual(clean.isolation.controlsApplied, [...run.isolation.controlsApplied, "no_route_out"]);
  assert.deepEqual(clean.teardown, run.teardown);
  const dirty = { populated: true, zombies: 1, residualMounts: ["/m"], groupsLeft: ["/a/b"] };
  const { teardown: both } = withSandbox(run, { controls, teardown: teardown(dirty) });
  assert.deepEqual(
    [both.cleanupVerified, both.reapStatus, both.descendantContainment, both.zombieCount],
    [false, "incomplete", "leaked", 1],
  );
  assert.deepEqual([both.residualMounts, both.collectionErrors], [["/m"], ["cgroup not removed: b"]]);
  assert.equal(both.judgeActions.length, 1);
  const before = evidence({ execute: signalled(9, { teardown: teardown(dirty) }) });
  assert.ok(before);
  assert.equal(withSandbox(before, { controls, teardown: teardown() }).teardown.cleanupVerified, false);
});
