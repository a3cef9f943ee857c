import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, groupsOf } from "../../support/launcher/machine.ts";
import { connected, type Entry, type Raw, run, step } from "./raw.ts";

const MiB = 1 << 20;
const HAS = { memory: ["memory.max", "memory.limit_in_bytes"], pids: ["pids.max"] };

/** The cgroups of the box that waits for a step, by what they control, with the inode of each. */
function groupsOfBox(launcher: Launcher): { memory: number[]; pids: number[]; core: number[] } {
  const groups = { memory: [] as number[], pids: [] as number[], core: [] as number[] };
  for (const path of groupsOf(launcher).filter((path) => path.endsWith("/s0-b0"))) {
    const controls = (name: keyof typeof HAS) => HAS[name].some((file) => existsSync(join(path, file)));
    groups[controls("memory") ? "memory" : controls("pids") ? "pids" : "core"].push(statSync(path).ino);
  }
  return groups;
}

describe("a group serves the next box only if it counted nothing that cannot be subtracted", () => {
  let launcher: Launcher;
  let raw: Raw;
  before(async () => {
    launcher = await startLauncher({ slots: 1 });
    raw = await connected(launcher.socket);
  });
  after(async () => {
    raw.close();
    assert.equal(await launcher.stop(), 0);
  });

  const shell = (script: string, limits = {}) => step(["/bin/sh", "-c", script], limits);
  const python = (source: string, limits = {}) => step(["/usr/bin/python3", "-c", source], limits);
  const busy = "while :; do :; done";
  const cases: [name: string, step: Entry[], keepsPids: boolean][] = [
    ["a program alone", step(["/bin/true"]), true],
    ["a second of CPU time", shell(busy, { CPU_MS: 1000 }), true],
    ["a program out of memory", python("'x' * (64 << 20)", { MEMORY_BYTES: 32 * MiB }), true],
    ["processes that wait for a CPU", shell(`${busy} & ${busy}`, { CPU_MS: 1000, CPUS: 1 }), false],
    ["a thread", python("import threading; threading.Thread(target=print).start()"), false],
    ["a refused process", shell("/bin/true; /bin/true", { PROCESSES: 1 }), false],
    ["a killed process", shell("sleep 100 & exec /bin/true"), false],
  ];
  for (const [name, program, keepsPids] of cases)
    test(name, async () => {
      await run(raw, step(["/bin/true"]));
      await eventually("the next box", () => groupsOfBox(launcher).memory.length > 0);
      const groups = groupsOfBox(launcher);
      await run(raw, program);
      await eventually("the next box", () => groupsOfBox(launcher).memory.some((one) => !groups.memory.includes(one)));
      const now = groupsOfBox(launcher);
      assert.deepEqual(now.core, groups.core);
      assert.deepEqual(
        now.pids.filter((one) => groups.pids.includes(one)),
        keepsPids ? groups.pids : [],
      );

      const { ended } = await run(raw, step(["/bin/true"]));
      const counts = (["PIDS_REFUSED", "PIDS_CURRENT", "OOM_EVENTS", "OOM_KILLS", "MEMORY_HITS"] as const).map((key) =>
        ended.int(key),
      );
      assert.deepEqual([ended.optionalInt("EXIT_CODE"), ...counts], [0, 0, 0, 0, 0, 0]);
      assert.equal(ended.optionalInt("PIDS_PEAK") ?? 1, 1);
      for (const key of ["CPU_USEC", "PRESSURE_FULL_USEC", "PRESSURE_SOME_USEC"] as const)
        assert.ok((ended.optionalInt(key) ?? 0) < 300_000, `${key} ${ended.optionalInt(key)}`);
      assert.ok(ended.int("MEMORY_PEAK") < 8 * MiB, `${ended.int("MEMORY_PEAK")} bytes`);
    });
});
