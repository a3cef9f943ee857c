import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../support/repo/documents.ts";
import { directory } from "../hosts/host.ts";
import { NO_KERNEL, trialOnKernel } from "./kernel.ts";
import { PATH, release } from "./release.ts";

/** Takes eight minutes on two idle cores. */
const SECONDS = 2_400;

const run = (command: string, ...words: string[]) => execFileSync(command, words, { env: { PATH }, stdio: "pipe" });

/** Packs the release in `tree` as the given version. */
function pack(tree: string, version: string, into: string): void {
  const file = join(tree, "package.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(/^( {2}"version": ").*(",?)$/m, `$1${version}$2`));
  writeFileSync(join(tree, "setup/version"), `${version}\n`);
  run(join(tree, "deploy/debian/pack"), into);
}

test("on a fresh Debian, the package is installed, upgraded, removed and purged, and a failed upgrade stops nothing", {
  skip: NO_KERNEL,
}, async (t) => {
  const results = directory(t);
  const { place, tarball } = release();
  run("tar", "-C", results, "-xf", join(place, tarball));
  const tree = join(results, readdirSync(results)[0] ?? "");
  // This kernel is slow: each start tests one language instead of eight, with longer time limits.
  const languages = join(tree, "languages");
  renameSync(languages, join(results, "languages"));
  run(
    process.execPath,
    join(ROOT, "test/system/kernel/patient-languages.ts"),
    join(results, "languages"),
    languages,
    "8",
  );
  const kept = ["c.json", "examples.json", "profiles.json"];
  for (const name of readdirSync(languages))
    if (name.endsWith(".json") && !kept.includes(name)) rmSync(join(languages, name));

  const packages = directory(t);
  for (const [version, name] of [
    ["0.9.1", "one"],
    ["0.9.2", "two"],
    ["0.9.3", "broken"],
  ] as const) {
    const modules = join(tree, "release/modules.tar.gz");
    if (name === "broken") {
      copyFileSync(modules, join(results, "modules.tar.gz"));
      rmSync(modules);
      copyFileSync(join(results, "modules.tar.gz"), modules);
      truncateSync(modules, 1 << 20);
    }
    pack(tree, version, packages);
    const made = readdirSync(packages).find((file) => file.includes(`_${version}_`)) ?? "";
    linkSync(join(packages, made), join(results, `${name}.deb`));
  }
  rmSync(tree, { recursive: true });
  const root = join(packages, "root");
  const included = "--include=systemd,systemd-sysv,openssl,curl,ca-certificates";
  run("unshare", "--mount", "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", included, "trixie", root);
  run("mke2fs", "-q", "-t", "ext4", "-d", root, join(results, "disk"), "8G");
  copyFileSync(join(ROOT, "test/system/deploy/package-trial"), join(results, "trial"));
  run("rm", "-rf", "--one-file-system", packages);

  const said = await trialOnKernel("test/system/deploy/init", results, SECONDS);
  const ran = /"verdict":"AC".*"stdout":"from a package\\n".*"mode":"strict".*"controls_missing":\[\]/;
  const of = (step: string, name: string) =>
    new RegExp(`^${name} (.*)$`, "m").exec(said[step] ?? "")?.[1] ?? said[step];

  const running = (step: string, status: string, version: string, state = "installed", software = version) => {
    assert.equal(of(step, "status"), status, said[step]);
    assert.equal(of(step, "service"), "active active", said[step]);
    assert.deepEqual([of(step, "package"), of(step, "software")], [`${state} ${version}`, software]);
    assert.match(said[step] ?? "", ran);
  };
  running("install", "0", "0.9.1");
  assert.match(said.install ?? "", /\nenabled\nenabled\ndisabled\n/);
  assert.doesNotMatch(said.install ?? "", /assay_live_|welcome#/);
  running("upgrade", "0", "0.9.2");
  assert.notEqual(of("upgrade", "process"), of("install", "process"));

  // The former version runs, in the same processes, and dpkg knows what is left to do.
  running("failure", "100", "0.9.3", "half-configured", "0.9.2");
  assert.match(said.failure ?? "", /cannot unpack \/usr\/lib\/assay\/release\/modules\.tar\.gz/);
  assert.equal(of("failure", "process"), of("upgrade", "process"));
  running("continuation", "0", "0.9.3");
  assert.notEqual(of("continuation", "process"), of("failure", "process"));
  assert.match(said.continuation ?? "", /\nASSAY_WORKERS=1\n\n?$/);

  assert.match(
    said.remove ?? "",
    /\nstatus 0\ninactive\ninactive\n\/etc\/assay:\nenvironment\n\n\/var\/lib\/assay\/db:\n/,
  );
  running("again", "0", "0.9.2");
  assert.match(said.purge ?? "", /\nstatus 0\n\n?$/);
});
