import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;

/** How much of this kind of memory the whole machine uses, in MiB. */
const machineMemory = (kind: "SUnreclaim" | "Shmem"): number =>
  Number(new RegExp(`^${kind}: +(\\d+)`, "m").exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) / 1024;

describe("executions of one sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  let other: AttachedSlot;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    box = await hold(launcher, { inodes: 32768 });
    slot = await box.attach();
    other = await box.attach();
  });
  after(async () => {
    const { groupsLeft, reaped, residualMounts } = await box.end();
    assert.deepEqual([groupsLeft, reaped, residualMounts], [[], true, []]);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("cannot write to a directory of two layers, whose lists are charged to nobody", async () => {
    const writable = "find / -xdev -type d -writable -not -path '/home/user/*' 2>/dev/null; true";
    assert.equal(await output(slot, writable), "/tmp\n/home/user\n");
    const source = `
import os, ctypes
libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(65536)
for directory in ('/tmp', '/home/user'):
  for i in range(6000): open(f"{directory}/{'x' * 235}{i:06d}", 'w').close()
  kept = []
  for i in range(40):
    open(directory + '/changed', 'w').close(); os.unlink(directory + '/changed')
    kept.append(os.open(directory, os.O_RDONLY)); libc.syscall(217, kept[-1], buffer, 1000)
print('made', flush=True); input()
for directory in ('/tmp', '/home/user'):
  for name in os.listdir(directory):
    if name.startswith('xxx'): os.unlink(directory + '/' + name)`;
    const before = machineMemory("SUnreclaim");
    const running = slot.run(execution(python(source), { live: true }), (_, bytes) => {
      assert.equal(bytes.toString(), "made\n");
      const grown = machineMemory("SUnreclaim") - before;
      void slot.input(Buffer.from("\n"));
      assert.ok(grown < 100, `the machine's memory has grown by ${grown} MiB; lists of names would take 226`);
    });
    const report = await running;
    assert.equal(report.exitCode, 0, described(report));
  });
});
