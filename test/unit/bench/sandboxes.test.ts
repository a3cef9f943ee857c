import assert from "node:assert/strict";
import { test } from "node:test";
import { growth } from "../../../bench/sandboxes/counts.ts";
import { admittedSandboxes, type SandboxRow, sandboxTable, unmeasured } from "../../../bench/sandboxes.ts";

test("memory grows in percent of what it was, and counts by numbers; both may be negative", () => {
  const before = { kernel_memory: 1_000, memory_groups: 80, cgroups: 200, namespaces: 0, mounts: 10, descriptors: 50 };
  const after = { kernel_memory: 1_015, memory_groups: 300, cgroups: 199, namespaces: 1, mounts: 10, descriptors: 51 };
  assert.deepEqual(
    growth(before, after).map(({ name, more, most, unit }) => [name, more, unit, more <= most]),
    [
      ["kernel_memory", 1.5, "%", false],
      ["memory_groups", 220, "count", false],
      ["cgroups", -1, "count", true],
      ["namespaces", 1, "count", true],
      ["mounts", 0, "count", true],
      ["descriptors", 1, "count", true],
    ],
  );
});

test("as many idle sandboxes are measured as a quarter of the memory admits", () => {
  assert.equal(admittedSandboxes(2_000, 3, 24_000), 2_000);
  assert.equal(admittedSandboxes(2_000, 3, 1_200), 100);
  assert.equal(admittedSandboxes(2_000, 3, 1), 1);
});

test("the table has each figure next to its target, and the reason of one that was not measured", () => {
  const measured: SandboxRow = {
    ...{ name: "execute_true", unit: "ms", value: 2.3456, p99: 7, target: "3 / 8 ms", reached: true, note: null },
    floor: { name: "spawn", value: 1.5, p99: 2 },
  };
  const [, first, second] = sandboxTable([measured, unmeasured("snapshot", "not yet", "250 ms")]).split("\n");
  assert.match(first ?? "", /^execute_true +2\.35 \/ 7 ms +3 \/ 8 ms +yes +spawn: 1\.5 \/ 2 +$/);
  assert.match(second ?? "", /^snapshot +– +250 ms +– +– +not yet$/);
});
