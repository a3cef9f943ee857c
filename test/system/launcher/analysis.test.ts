import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const LAUNCHER = new URL("../../../launcher/", import.meta.url).pathname;

function analyse(launcher: string) {
  const { status, stderr } = spawnSync("/bin/sh", [join(launcher, "analyse"), "gcc"], { encoding: "utf8" });
  return { status, stderr };
}

test("gcc's analyser has no findings in the launcher", () => {
  assert.deepEqual(analyse(LAUNCHER), { status: 0, stderr: "" });
});

test("gcc's analyser finds a use after free", (t) => {
  const copy = mkdtempSync(join(tmpdir(), "assay-analysis-"));
  t.after(() => rmSync(copy, { recursive: true }));
  const files = readdirSync(LAUNCHER, { recursive: true, encoding: "utf8" });
  for (const name of files.filter((name) => /^analyse$|\.(h|def)$/.test(name)))
    cpSync(join(LAUNCHER, name), join(copy, name));
  const source = readFileSync(join(LAUNCHER, "slot/slot.c"), "utf8");
  const broken = source.replace("p->request = NULL;", "p->request->files = 0;\n\t$&");
  assert.notEqual(broken, source);
  writeFileSync(join(copy, "slot/slot.c"), broken);
  const { status, stderr } = analyse(copy);
  assert.equal(status, 1);
  assert.match(stderr, /slot\/slot\.c:\d+:\d+: error: use after .free.+analyzer-use-after-free/);
});
