import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

const SETUP = resolve(import.meta.dirname, "../../../setup");

/** A data directory, a checkout with setup/test-tools/fruit.sh, and a dpkg package in a local directory as its archive. */
function makeOrchard(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "unpack-"));
  t.after(() => rmSync(root, { recursive: true }));
  const [checkout, data, tree] = [join(root, "checkout"), join(root, "data"), join(root, "tree")];
  for (const directory of ["log", "tmp"]) mkdirSync(join(data, directory), { recursive: true });
  cpSync(SETUP, join(checkout, "setup"), { recursive: true });
  const script = join(checkout, "setup/test-tools/fruit.sh");
  writeFileSync(script, `unpack_fruit() { unpack "$1" "$alone" pear && ls "$1/pear"; }\n`);
  mkdirSync(join(tree, "DEBIAN"), { recursive: true });
  const control = "Package: pear\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: fruit\n";
  writeFileSync(join(tree, "DEBIAN/control"), control);
  writeFileSync(join(tree, "DEBIAN/postinst"), `#!/bin/sh\ntouch ${root}/installed\n`, { mode: 0o755 });
  writeFileSync(join(tree, "pear"), "sweet");
  execFileSync("dpkg-deb", ["--build", tree, join(root, "pear_1_all.deb")]);
  return { root, checkout, data, script };
}

function find({ root, checkout, data }: ReturnType<typeof makeOrchard>) {
  const parts = `checkout=$1 data=$2; for part in log step software test-tools/unpack test-tools/fruit; do . "$1/setup/$part.sh"; done
    apt_get() { [ "$1" = update ] || cp "$0"/*.deb .; }
    find_unpacked fruit fruit; echo "$unpacked"`;
  return spawnSync("sh", ["-euc", parts, root, checkout, data], { encoding: "utf8" });
}

test("a package is unpacked once and not installed, and only its files are kept", (t) => {
  const orchard = makeOrchard(t);
  const [first, second] = [find(orchard), find(orchard)];
  const directory = first.stdout.trim();
  assert.match(directory, new RegExp(`^${orchard.data}/fruit/[0-9a-f]{16}$`));
  assert.deepEqual([second.stdout, second.stderr], [first.stdout, ""]);
  assert.deepEqual(readdirSync(directory), ["pear"]);
  assert.equal(readFileSync(join(directory, "pear"), "utf8"), "sweet");
  assert.ok(!readdirSync(orchard.root).includes("installed"));
});

test("a changed way of unpacking gets another directory, and the old one stays", (t) => {
  const orchard = makeOrchard(t);
  const before = find(orchard).stdout;
  appendFileSync(orchard.script, "# changed\n");
  const after = find(orchard).stdout;
  assert.notEqual(after, before);
  assert.equal(readdirSync(join(orchard.data, "fruit")).length, 2);
});

test("a failed unpacking leaves no directory that a later start would use", (t) => {
  const orchard = makeOrchard(t);
  writeFileSync(join(orchard.root, "torn_1_all.deb"), "!<arch>\n");
  const { status, stderr } = find(orchard);
  assert.equal(status, 1);
  assert.match(stderr, /fruit failed after/);
  for (const name of readdirSync(join(orchard.data, "fruit"))) assert.match(name, /\.tmp\./);
});
