import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Machine } from "./host.ts";

const SETTINGS = "/sys/kernel/mm/transparent_hugepage";
/** The settings of a host that gives huge pages to programs that ask for them. */
const ON_REQUEST = `mount -t tmpfs none ${SETTINGS}; mkdir ${SETTINGS}/hugepages-64kB
  echo 'always [madvise] never' >${SETTINGS}/enabled; echo 'always inherit madvise [never]' >${SETTINGS}/hugepages-64kB/enabled`;

for (const [what, prepare, permitted] of [
  ["on request", ON_REQUEST, "1"],
  ["for all memory", `${ON_REQUEST}; echo '[always] madvise never' >${SETTINGS}/enabled`, "0"],
  [
    "of one size for all memory",
    `${ON_REQUEST}; echo '[always] inherit madvise never' >${SETTINGS}/hugepages-64kB/enabled`,
    "0",
  ],
  ["by a setting that cannot be read", `mount -t tmpfs none ${SETTINGS}`, "0"],
] as const)
  test(`where the host gives huge pages ${what}, programs ${permitted === "1" ? "cannot ask for them" : "get none"}`, async (t) => {
    const machine = await Machine.with(t, { prepare });
    const launcher = await machine.launcher();
    if (typeof launcher === "string") assert.fail(launcher);
    const [, has] = /^THP_enabled:\t(\d)$/m.exec(readFileSync(`/proc/${launcher.pid}/status`, "utf8")) ?? [];
    assert.equal(has, permitted);
    assert.equal(await launcher.stop(), 0);
  });
