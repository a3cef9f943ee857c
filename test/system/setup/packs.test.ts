import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { environment } from "../../support/launcher/launcher.ts";

const LAYER = resolve(import.meta.dirname, "../../../image/layer");
const SHARED = "usr/share/both/file";

/** A base with the programs that image/layer needs, and layers with these files. */
function composed(files: readonly Readonly<Record<string, string>>[]) {
  const root = mkdtempSync(join(environment("ASSAY_TEST_DATA"), "packs-"));
  const base = join(root, "base");
  mkdirSync(join(base, "manager"), { recursive: true });
  mkdirSync(join(base, "rootfs/usr/sbin"), { recursive: true });
  mkdirSync(join(base, "rootfs/etc"));
  execFileSync("cp", ["-a", "/sbin/ldconfig", join(base, "rootfs/usr/sbin/ldconfig")]);
  writeFileSync(join(base, "rootfs/etc/ld.so.cache"), "the base's");
  writeFileSync(join(base, "versions.json"), "{}");
  const layers = files.map((contents, n) => {
    for (const [path, text] of Object.entries(contents)) {
      const file = join(root, `layer${n}`, "files", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return `pack${n}=${join(root, `layer${n}`)}`;
  });
  const out = join(root, "out");
  const { status, stderr } = spawnSync(LAYER, ["compose", out, base, ...layers], { encoding: "utf8" });
  return { root, base, out, status, stderr, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

test("an image with packs has the base's files by hard links, and the base stays as it is", () => {
  using image = composed([
    { "usr/bin/one": "1", [SHARED]: "same" },
    { "usr/bin/two": "2", [SHARED]: "same" },
  ]);
  assert.equal(image.status, 0, image.stderr);
  for (const [name, text] of Object.entries({ one: "1", two: "2" }))
    assert.equal(readFileSync(join(image.out, "rootfs/usr/bin", name), "utf8"), text);
  const inode = (path: string) => statSync(join(path, "rootfs/usr/sbin/ldconfig")).ino;
  assert.equal(inode(image.out), inode(image.base));
  assert.equal(readFileSync(join(image.base, "rootfs/etc/ld.so.cache"), "utf8"), "the base's");
  assert.ok(!existsSync(join(image.base, "rootfs/usr/bin")));
});

test("a layer replaces no file of the base", () => {
  using image = composed([{ "usr/sbin/ldconfig": "another" }]);
  assert.equal(image.status, 0, image.stderr);
  const path = (root: string) => join(root, "rootfs/usr/sbin/ldconfig");
  assert.equal(statSync(path(image.out)).ino, statSync(path(image.base)).ino);
});

test("packs with different contents of one path are refused, and nothing is left", () => {
  using image = composed([{ [SHARED]: "one" }, { "usr/bin/two": "2" }, { [SHARED]: "another" }]);
  assert.equal(image.status, 1);
  assert.match(image.stderr, new RegExp(`the packs pack0 and pack2 both have /${SHARED}, with different contents`));
  assert.ok(!existsSync(image.out));
  assert.equal(execFileSync("find", [image.root, "-maxdepth", "1", "-name", "out*"], { encoding: "utf8" }), "");
});
