import assert from "node:assert/strict";
import { test } from "node:test";
import { launcherCapabilities } from "../../support/deploy/units.ts";
import { directory } from "../hosts/host.ts";
import { NO_KERNEL, trialOnKernel } from "./kernel.ts";

/** Takes four minutes on two idle cores. */
const SECONDS = 1_500;
const BITS = { CHOWN: 0, DAC_OVERRIDE: 1, KILL: 5, SETGID: 6, SETUID: 7, SETPCAP: 8, SYS_CHROOT: 18, SYS_PTRACE: 19 };
const MORE_BITS = { SYS_ADMIN: 21, SYS_NICE: 23, SYS_RESOURCE: 24, MKNOD: 27 };

test("with systemd as process 1, units are installed, run a program, survive a kill, are upgraded and removed", {
  skip: NO_KERNEL,
}, async (t) => {
  const said = await trialOnKernel("test/system/deploy/init", directory(t), SECONDS);
  const ran =
    /"verdict":"AC".*"stdout":"from a unit\\n".*"mode":"strict".*"controls_missing":\[\].*"cleanup_verified":true/;

  assert.match(said.install ?? "", /^status 0\n[\s\S]*The first key, shown this once: assay_live_/);
  assert.match(said.run ?? "", ran);

  const bits: Record<string, number> = { ...BITS, ...MORE_BITS };
  const kept = launcherCapabilities().reduce((all, name) => all | (1n << BigInt(bits[name.slice(4)] ?? 63)), 0n);
  const [launcher = "", service = ""] = (said.processes ?? "").split("\n");
  assert.match(launcher, /^assay-launcher Uid: 0 0 0 0 /);
  assert.ok(
    launcher.includes(`CapPrm: ${kept.toString(16).padStart(16, "0")} CapBnd: ${"0".repeat(16)} NoNewPrivs: 1 `),
    launcher,
  );
  assert.match(launcher, / \/system\.slice\/assay-launcher\.service\/assay-unit\.launcher$/);
  assert.match(
    service,
    /^assay Uid: ([1-9]\d*) \1 \1 \1 CapPrm: 0{16} CapBnd: 0{16} NoNewPrivs: 1 .*\/assay\.service$/,
  );

  // A program that the kernel kills for its memory ends its box, not the unit.
  assert.match(said.memory ?? "", /"verdict":"MLE","cause":"oom_kill","actor":"kernel".*\nrestarts 0 active\n/);

  assert.match(said.kill ?? "", ran);
  assert.match(said.kill ?? "", /\nthe same service\n/);
  assert.match(said.again ?? "", /\nstatus 0\n/);
  assert.match(said.again ?? "", ran);
  assert.doesNotMatch(said.again ?? "", /The first key/);
  assert.match(said.again ?? "", /\nthe same launcher\nanother service\n/);
  assert.match(said.other ?? "", /\nstatus 0\nanother launcher\n/);

  // No control group and no process of ours follows the two results.
  assert.equal(said.stop, "success\n\nsuccess\n\n");
  assert.match(said.boot ?? "", /\bassay\.service\n/);
  assert.match(said.uninstall ?? "", /\nassay: removed\n/);
  assert.match(said.uninstall ?? "", /\nstatus 0\n/);
  const left = (said.uninstall ?? "").split("\nstatus 0\n")[1] ?? "";
  assert.deepEqual(
    left
      .trim()
      .split("\n")
      .filter((line) => !/^ls: cannot access /.test(line)),
    [""].slice(1),
  );
});
