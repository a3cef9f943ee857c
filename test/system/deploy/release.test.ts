import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { ROOT } from "../../support/repo/documents.ts";
import { makeRelease, PATH } from "./release.ts";

test("a release of this checkout runs every language in a clean Debian 12 and 13 without a network", {
  skip: SKIPS_LONG,
}, (t) => {
  const { place, tarball } = makeRelease((remove) => t.after(remove));
  execFileSync("sha256sum", ["--check", "--status", `${tarball}.sha256`], { cwd: place });
  assert.match(readFileSync(join(place, `${tarball}.sha256`), "utf8"), /^[0-9a-f]{64} {2}assay-/);

  for (const suite of ["bookworm", "trixie"]) {
    const runner = join(ROOT, "test/system/deploy/clean-release");
    const { status, stdout, stderr } = spawnSync(runner, [suite, join(place, tarball), "doctor"], {
      env: { PATH, ASSAY_TRIALS: place },
      encoding: "utf8",
    });
    assert.equal(status, 0, `${suite}: ${stdout}${stderr}`);
    for (const { name } of loadLanguages(LANGUAGES).list())
      assert.match(stdout, new RegExp(`^works +language ${name} `, "m"), `${suite}: ${name}`);
    assert.match(stdout, /\nready to run programs with full isolation\n/);
    assert.doesNotMatch(stderr, /npm|compiling|installing|building/);
    rmSync(join(place, `release-${suite}`), { recursive: true, force: true });
  }
});
