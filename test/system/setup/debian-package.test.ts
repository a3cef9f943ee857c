import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { UNITS } from "../../support/deploy/units.ts";
import { ROOT } from "../../support/repo/documents.ts";
import { Command, FakeCheckout } from "./fake-checkout.ts";

const NOBODY = 65_534;
const run = (command: string, ...words: string[]) => execFileSync(command, words, { encoding: "utf8" });

/** Makes a release with the real command and unpacks it. @returns its directory. */
async function release(fake: FakeCheckout): Promise<string> {
  const { code, stderr } = await fake.run("release", "--output", fake.root);
  assert.equal(code, 0, stderr);
  const name = readdirSync(fake.root).find((file) => file.endsWith(".tar.gz")) ?? "";
  run("tar", "-C", fake.root, "-xf", join(fake.root, name));
  return join(fake.root, name.slice(0, -".tar.gz".length));
}

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "deb-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Packs the release as this user, with this umask and in this locale. @returns the path of the package. */
function packed(t: TestContext, tree: string, uid = 0, umask = "022", locale = "C.UTF-8"): string {
  const into = directory(t);
  chownSync(into, uid, uid);
  const env = { PATH: process.env.PATH, TMPDIR: into, LC_ALL: locale, TAR_OPTIONS: "--verbose", GZIP: "-9" };
  const script = `umask ${umask}; exec setpriv --reuid ${uid} --regid ${uid} --clear-groups -- "$1/deploy/debian/pack" "$2"`;
  execFileSync("sh", ["-euc", script, "sh", tree, into], { env, stdio: "pipe" });
  return join(into, readdirSync(into).find((name) => name.endsWith(".deb")) ?? "");
}

test("a Debian package has the release, the units and a command, all of root's, and says what it needs", async (t) => {
  using fake = new FakeCheckout();
  const tree = await release(fake);
  const deb = join(fake.root, readdirSync(fake.root).find((name) => name.endsWith(".deb")) ?? "");
  const field = (name: string) => run("dpkg-deb", "--field", deb, name).trim();
  assert.deepEqual(
    [field("Package"), field("Version"), field("Architecture")],
    ["assay", "1.2.3", run("dpkg", "--print-architecture").trim()],
  );
  const needed = field("Depends").split(", ");
  for (const name of ["openssl", "passwd", "systemd (>= 252)"]) assert.ok(needed.includes(name), name);
  assert.ok(Number(field("Installed-Size")) > 0);

  const lines = run("dpkg-deb", "--contents", deb).trim().split("\n");
  for (const line of lines) assert.match(line, /^(d(rwxr-xr-x)|-rw[-x]r-[-x]r-[-x]|lrwxrwxrwx) root\/root /, line);
  const paths = lines.map((line) => line.split(/ +/).slice(5).join(" "));
  assert.ok(paths.includes("./usr/bin/assay -> ../lib/assay/assay"));
  for (const unit of UNITS) assert.ok(paths.includes(`./usr/lib/systemd/system/${unit}`), unit);
  // Debian's settings belong to the operator: the package has no file that dpkg could replace or ask about.
  assert.deepEqual(
    paths.filter((path) => !path.startsWith("./usr/") && path !== "./"),
    [],
  );

  const unpacked = directory(t);
  run("dpkg-deb", "--raw-extract", deb, unpacked);
  execFileSync("md5sum", ["--check", "--quiet", "DEBIAN/md5sums"], { cwd: unpacked });
  for (const unit of UNITS)
    assert.equal(
      readFileSync(join(unpacked, "usr/lib/systemd/system", unit), "utf8"),
      readFileSync(join(ROOT, "deploy/systemd", unit), "utf8"),
    );
  assert.equal(run(join(unpacked, "usr/bin/assay"), "version"), "assay 1.2.3\n");
  for (const file of readdirSync(join(tree, "release")))
    assert.ok(
      readFileSync(join(tree, "release", file)).equals(readFileSync(join(unpacked, "usr/lib/assay/release", file))),
      file,
    );
});

test("root and an ordinary user pack the same Debian package, regardless of umask, locale and times", async (t) => {
  using fake = new FakeCheckout();
  const tree = await release(fake);
  const first = readFileSync(packed(t, tree));
  run("find", tree, "-exec", "touch", "-h", "-d", "2001-01-01", "{}", "+");
  assert.ok(first.equals(readFileSync(packed(t, tree, NOBODY, "077", "POSIX"))));
});

test("a release candidate is older than its release for Debian, too", async (t) => {
  using fake = new FakeCheckout();
  const tree = await release(fake);
  writeFileSync(join(tree, "setup/version"), "1.2.3-rc.1\n");
  const version = run("dpkg-deb", "--field", packed(t, tree), "Version").trim();
  assert.equal(version, "1.2.3~rc.1");
  assert.equal(spawnSync("dpkg", ["--compare-versions", version, "lt", "1.2.3"]).status, 0);
});

test("each script of the package knows every way in which dpkg calls it, and refuses others", async (t) => {
  using fake = new FakeCheckout();
  const control = join(directory(t), "control");
  run("dpkg-deb", "--control", packed(t, await release(fake)), control);
  // By deb-postinst(5), deb-prerm(5) and deb-postrm(5), without the calls that change the machine.
  const CALLS = {
    postinst: ["abort-upgrade 1.2.2", "abort-deconfigure in-favour b 1"],
    prerm: ["upgrade 1.2.4", "failed-upgrade 1.2.2 1.2.3", "deconfigure in-favour b 1"],
    postrm: [
      "upgrade 1.2.4",
      "failed-upgrade 1.2.2 1.2.3",
      "abort-install",
      "abort-upgrade 1.2.2 1.2.3",
      "disappear b 1",
    ],
  };
  for (const [name, calls] of Object.entries(CALLS)) {
    const script = join(control, name);
    assert.equal(statSync(script).mode & 0o777, 0o755);
    for (const call of calls) {
      const { status, stdout, stderr } = spawnSync(script, call.split(" "), { encoding: "utf8" });
      assert.deepEqual([status, stdout, stderr], [0, "", ""], `${name} ${call}`);
    }
    const unknown = spawnSync(script, ["surprise"], { encoding: "utf8" });
    assert.deepEqual([unknown.status, unknown.stderr], [1, `${name} called with unknown argument 'surprise'\n`]);
  }
});

test("a packaged command refuses what dpkg does, and another data directory for its units", async () => {
  using fake = new FakeCheckout();
  const tree = await release(fake);
  const assay = (...words: string[]) => new Command(join(tree, "assay"), words).end();
  assert.match((await assay("configure", "--data", fake.data)).stderr, /'assay configure' is for the Debian package/);
  writeFileSync(join(tree, "release/package"), "deb\n");
  // In a mount namespace, so that the data directory of this machine is not there.
  const elsewhere = 'mount --bind "$1" /mnt; mount -t tmpfs none /var/lib; exec /mnt/assay uninstall --yes';
  const { code, stderr } = await new Command("unshare", ["--mount", "sh", "-euc", elsewhere, "sh", tree]).end();
  assert.deepEqual([code, /apt-get purge assay/.test(stderr)], [1, true], stderr);
  assert.match((await assay("configure", "--data", fake.data)).stderr, /use \/var\/lib\/assay, .*: omit --data/);
});

/** Calls write_units and installed_units of setup/units.sh in a packaged checkout. */
function units(t: TestContext, stopSeconds: number, replaced: string) {
  const [checkout, etc, usr] = [directory(t), directory(t), directory(t)];
  mkdirSync(join(checkout, "release"));
  writeFileSync(join(checkout, "release/package"), "deb\n");
  for (const unit of UNITS) {
    writeFileSync(join(usr, unit), readFileSync(join(ROOT, "deploy/systemd", unit)));
    chmodSync(join(usr, unit), 0o644);
  }
  writeFileSync(join(etc, "assay.service"), replaced);
  const script = `
    checkout=$1 data=/var/lib/assay role=serve own_worker=yes app=$2
    for part in log release units; do . "$2/setup/$part.sh"; done
    units_dir=$3 packaged_units_dir=$4
    changed() { :; }
    write_units assay.service ${stopSeconds}`;
  execFileSync("sh", ["-euc", script, "sh", checkout, ROOT, etc, usr]);
  return { names: readdirSync(etc), read: (name: string) => readFileSync(join(etc, name), "utf8") };
}

test("the package's units suffice, unless a setting changes them", (t) => {
  // The file is from an installation without the package, or from another setting.
  assert.deepEqual(units(t, 35, "an older one").names, []);
  const longer = units(t, 95, "an older one");
  assert.deepEqual(longer.names, ["assay.service"]);
  assert.match(longer.read("assay.service"), /^TimeoutStopSec=95$/m);
});
