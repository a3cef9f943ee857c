import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const SETTING = "MALLOC_MMAP_THRESHOLD_=1048576";
const STARTERS = [
  "setup/processes.sh",
  "deploy/systemd/assay.service",
  "deploy/systemd/assay-worker.service",
  "deploy/container/assay",
];

for (const path of STARTERS) {
  test(`${path} lets the service give large buffers back to the machine`, () => {
    const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
    assert.ok(text.includes(SETTING));
  });
}
