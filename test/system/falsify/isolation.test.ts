import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { CONTROLS, type Control } from "../../../src/domain/controls.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { AT_ONCE, type Concluded, concluded, concludedWith, stopWell } from "./boxes.ts";

/**
 * For every control, the kernel call that creates it is skipped, and the run must report that. `also` lists controls
 * that depend on it: an undeclared dependency could hide the loss of another control.
 */
const LOST: Readonly<Record<Control, { readonly missing: string; readonly also?: readonly Control[] }>> = {
  pid_namespace: { missing: "is the launcher's own" },
  mount_namespace: { missing: "is the launcher's own", also: ["restricted_proc"] },
  network_namespace: { missing: "is the launcher's own" },
  ipc_namespace: { missing: "is the launcher's own" },
  uts_namespace: { missing: "is the launcher's own" },
  cgroup_namespace: { missing: "is the launcher's own" },
  unprivileged_user: { missing: "identity is another" },
  no_capabilities: { missing: "some are left" },
  no_new_privileges: { missing: "is not set" },
  seccomp_filter: { missing: "is not set" },
  cgroup_membership: { missing: "is not in every group of its run" },
  read_only_root: { missing: "the image can be written, or allows set-uid or devices" },
  own_image: { missing: "the image is shared with other boxes" },
  restricted_proc: { missing: "/proc shows or allows more than it should" },
  memory_limit: { missing: "reads back differently" },
  process_limit: { missing: "reads back differently" },
  resource_limits: { missing: "read back differently" },
};

let sound: Concluded;
before(async () => {
  const result = await concluded(shell("true"));
  await stopWell(result.launcher);
  sound = result;
});

test("without a fault, every control is applied and the run is strict", () => {
  const { isolation } = sound.evidence;
  assert.deepEqual([...isolation.controlsApplied].toSorted(), CONTROLS.toSorted());
  assert.deepEqual([isolation.controlsMissing, isolation.mode, sound.result.verdict], [[], "strict", "AC"]);
  assert.deepEqual([isolation.procPolicy, isolation.sysPolicy], ["hardened", "builtin-deny"]);
  assert.equal(isolation.reason, `all controls applied and read back from the kernel (${sound.facts.backend})`);
});

describe("a control that is not applied is missing from the evidence, and the run is IE", () => {
  for (const [control, { missing, also = [] }] of Object.entries(LOST)) {
    test(control, async () => {
      const { result, evidence } = await concludedWith(control);
      const { isolation } = evidence;
      const gone = isolation.controlsMissing.map((text) => text.slice(0, text.indexOf(":")));
      assert.deepEqual(gone.toSorted(), [control, ...also].toSorted());
      assert.ok(isolation.controlsMissing.includes(`${control}: ${missing}`), isolation.controlsMissing.join());
      for (const name of gone)
        assert.ok(!isolation.controlsApplied.includes(name), `${name} is both applied and missing`);
      assert.deepEqual([result.verdict, result.cause, isolation.mode], ["IE", "internal_error", "incomplete"]);
      assert.equal(result.errorMessage, "a control of the sandbox could not be verified");
      assert.match(isolation.reason, /not every control could be read back/);
      assert.equal(isolation.procPolicy, gone.includes("restricted_proc") ? "none" : "hardened");
      assert.equal(isolation.sysPolicy, gone.includes("seccomp_filter") ? "disabled" : "builtin-deny");
    });
  }
});

describe("a limit file that cannot be read back is a missing control", AT_ONCE, () => {
  const names = () =>
    sound.facts.backend === "cgroup_v2"
      ? { memory_limit: "memory.max", process_limit: "pids.max" }
      : { memory_limit: "memory.limit_in_bytes", process_limit: "pids.max" };
  for (const control of ["memory_limit", "process_limit"] as const) {
    test(control, async () => {
      const { result, evidence } = await concludedWith(`unreadable:${names()[control]}`);
      assert.deepEqual(evidence.isolation.controlsMissing, [`${control}: cannot be read back`]);
      assert.equal(result.verdict, "IE");
    });
  }
});
