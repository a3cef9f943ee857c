import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { PACKAGES } from "../../support/problems/packages.ts";
import { installation } from "../faults/real-serve.ts";

test("a package that only root can read is imported; a failure of either process ends both", {
  timeout: 240_000,
}, async (t) => {
  const home = installation(t);
  const root = mkdtempSync(join(tmpdir(), "assay-package-")); // mode 0700
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries(PACKAGES.sum)) {
    const full = join(root, "sum", path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
  }
  const output = join(root, "output");
  const run = async (...args: string[]) => {
    writeFileSync(output, "");
    const [code, stderr] = await home.piped("/dev/null", output, ...args);
    return { code, stderr, stdout: readFileSync(output, "utf8") };
  };
  const import_ = (...flags: string[]) => run("problems", "import", join(root, "sum"), "--account", "shop", ...flags);
  assert.equal((await run("accounts", "create", "--name", "shop")).code, 0);

  const faulty = await import_();
  assert.deepEqual([faulty.code, faulty.stdout], [1, ""]);
  assert.match(faulty.stderr, /has no time limit/);
  const first = await import_("--time-limit", "1");
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /: version 1 of sum, 3 tests\n$/);

  // More than a pipe holds, for a process that has ended.
  writeFileSync(join(root, "sum/data/secret/1-small.in"), Buffer.alloc(4_000_000, "1 2\n"));
  const unknown = await run("problems", "import", join(root, "sum"), "--account", "none", "--time-limit", "1");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /there is no account none/);

  const listed = await run("problems", "list", "--account", "shop", "--json");
  assert.equal(JSON.parse(listed.stdout).length, 1, listed.stderr);
  assert.equal((await run("problems", "delete", "sum", "--account", "shop")).code, 0);
});
