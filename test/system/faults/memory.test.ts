import assert from "node:assert/strict";
import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Slot } from "../../../src/sandbox/slot.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { exists, tracesLeft } from "../../support/launcher/machine.ts";
import { freeSlot } from "../../support/sandbox/free-slot.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { groupAbove } from "../falsify/boxes.ts";

const MIB = 1 << 20;
const FILES = { "memory.max": "max", "memory.limit_in_bytes": "-1" } as const;

/** Moves a launcher and its future slots into a memory group of their own, next to that of the boxes. */
function confine(launcher: { readonly pid: number; readonly instance: string }, home: string) {
  const group = join(dirname(home), `assay-${launcher.instance}.small`);
  mkdirSync(group);
  writeFileSync(join(group, "cgroup.procs"), String(launcher.pid));
  const [file, unlimited] = Object.entries(FILES).find(([name]) => exists(join(group, name))) ?? assert.fail();
  return {
    limit: (bytes: number) => writeFileSync(join(group, file), String(bytes)),
    lift: () => writeFileSync(join(group, file), unlimited),
    remove: () => rmdirSync(group),
  };
}

test("a slot killed because the launcher's memory group is full loses the run without a verdict; the next slot is clean", async (t) => {
  const launcher = await startLauncher({ slots: 1 });
  const home = groupAbove(launcher, (path) => Object.keys(FILES).some((name) => exists(join(path, name))));
  const group = confine(launcher, home);
  t.after(async () => {
    group.lift();
    await launcher.stop();
    group.remove();
  });
  const slot = await Slot.open(launcher.socket);
  assert.equal((await slot.run(shell("true"))).exitCode, 0, "there is enough memory before the limit");
  group.limit(2 * MIB);
  // The slot holds the request in its own memory.
  const large = shell("true", { stdin: Buffer.alloc(4 * MIB, "x") });
  await assert.rejects(slot.run(large), { name: "SandboxError", message: /closed its connection|ECONNRESET|EPIPE/ });
  group.lift();
  const next = await freeSlot(launcher);
  const report = await next.run(large);
  assert.deepEqual([report.exitCode, report.oomKills, report.controlsMissing], [0, 0, []]);
  next.close();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
});
