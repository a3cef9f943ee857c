import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { inCleanDebian, PATH, release } from "./release.ts";

function worksIn(suite: string, packages: string, script: string) {
  const { place } = release();
  const [command = "", ...words] = inCleanDebian(suite, packages, place, "sh", "-euc", script);
  const { status, stdout, stderr } = spawnSync(command, words, { env: { PATH }, encoding: "utf8" });
  assert.equal(status, 0, `${suite}: ${stdout}${stderr}`);
  for (const { name } of loadLanguages(LANGUAGES).list())
    assert.match(stdout, new RegExp(`^works +language ${name} `, "m"), `${suite}: ${name}`);
  assert.match(stdout, /\nready to run programs with full isolation\n/);
  assert.doesNotMatch(stderr, /npm|compiling|installing|building/);
  return stdout;
}

for (const suite of ["bookworm", "trixie"]) {
  test(`a release of this checkout runs every language in a clean ${suite} without a network`, {
    skip: SKIPS_LONG,
  }, () => {
    const { place, tarball } = release();
    execFileSync("sha256sum", ["--check", "--status", `${tarball}.sha256`], { cwd: place });
    assert.match(readFileSync(join(place, `${tarball}.sha256`), "utf8"), /^[0-9a-f]{64} {2}assay-/);
    worksIn(suite, "openssl", "tar -xf /srv/assay-*.tar.gz && exec ./assay-*/assay doctor");
  });

  test(`a Debian package of this checkout runs every language and a pack in a clean ${suite}, and its purge leaves nothing`, {
    skip: SKIPS_LONG,
  }, () => {
    const before = "(cd / && find etc usr var/lib -xdev ! -path 'var/lib/dpkg/*' ! -name '*-' | sort)";
    const said = worksIn(
      suite,
      "openssl,systemd",
      `${before} >/tmp/before
      dpkg -i /srv/assay_*.deb >&2
      dpkg --verify assay
      assay doctor
      assay languages add cpp23
      assay doctor | grep 'language cpp23'
      dpkg -r assay >&2
      assay version 2>/dev/null || test -d /var/lib/assay/db && echo "the data is kept"
      dpkg -P assay >&2
      ! getent passwd assay
      ${before} | diff /tmp/before - && echo "nothing is left"`,
    );
    assert.match(said, /^works +language cpp23 /m);
    assert.match(said, /\nthe data is kept\nnothing is left\n$/);
  });
}
