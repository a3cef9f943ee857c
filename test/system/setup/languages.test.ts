import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Command, FakeCheckout } from "./fake-checkout.ts";
import { processesBelow } from "./processes.ts";

const REAL = resolve(import.meta.dirname, "../../..");

/** The packs and their plans are real; layers are directories with one file, and can take long. */
function withPacks(): FakeCheckout {
  const fake = new FakeCheckout();
  for (const part of ["languages", "src/languages", "src/domain", "image/parts.sh", "image/compat.c"])
    cpSync(join(REAL, part), join(fake.checkout, part), { recursive: true });
  fake.write("image/layer", layerTool(fake.root), 0o755);
  const modules = join(fake.data, "modules", fake.list("modules")[0] ?? "", "node_modules");
  symlinkSync(join(REAL, "node_modules/zod"), join(modules, "zod"));
  return fake;
}

const layerTool = (root: string) => `#!/bin/sh
set -eu
case $1 in
build)
  mkdir -p "$2.tmp.$$/files"
  [ ! -e ${root}/slow ] || sleep 30
  echo 1 >"$2.tmp.$$/megabytes"
  cat >"$2.tmp.$$/files/lines"
  mv "$2.tmp.$$" "$2"
  ;;
compose)
  out=$2
  shift 3
  mkdir -p "$out/rootfs"
  for layer; do ln "\${layer#*=}/files/lines" "$out/rootfs/\${layer%%=*}"; done
  ;;
esac
`;

const installed = async (fake: FakeCheckout) => {
  const { code, stdout, stderr } = await fake.run("languages", "list");
  assert.equal(code, 0, stderr);
  return stdout
    .split("\n")
    .filter((line) => / installed /.test(line))
    .map((line) => line.split(" ")[0]);
};

const change = async (fake: FakeCheckout, ...args: string[]) => {
  const { code, stderr } = await fake.run("languages", ...args);
  assert.equal(code, 0, stderr);
};

/** Images with packs, by the names of the packs. */
const images = (fake: FakeCheckout) =>
  fake
    .list("image")
    .filter((name) => existsSync(join(fake.data, "image", name, "layers")))
    .map((name) => fake.list(`image/${name}/rootfs`).sort().join(","))
    .sort();

test("packs are added and removed in any order, and a removed pack leaves no file", async () => {
  using fake = withPacks();
  assert.deepEqual(await installed(fake), []);
  await change(fake, "add", "ruby", "lua,tcl", "lua");
  assert.deepEqual([await installed(fake), fake.list("layers").length], [["lua", "ruby", "tcl"], 3]);
  await change(fake, "remove", "ruby", "perl");
  assert.deepEqual([await installed(fake), fake.list("layers").length], [["lua", "tcl"], 2]);
  assert.deepEqual(images(fake), ["lua,tcl"]);
  await change(fake, "remove", "all");
  assert.deepEqual([await installed(fake), fake.list("layers"), images(fake)], [[], [], []]);
  assert.equal(readFileSync(join(fake.data, "languages"), "utf8"), "none\n");
});

test("a layer stays while another pack shares it", async () => {
  using fake = withPacks();
  await change(fake, "add", "cclang", "cppclang", "cpp23");
  assert.equal(fake.list("layers").length, 1);
  await change(fake, "remove", "cclang");
  assert.deepEqual([await installed(fake), fake.list("layers").length], [["cpp23", "cppclang"], 1]);
  await change(fake, "remove", "cppclang");
  assert.deepEqual([await installed(fake), fake.list("layers")], [["cpp23"], []]);
});

test("a wrong name changes nothing", async () => {
  using fake = withPacks();
  await change(fake, "add", "lua");
  for (const args of [
    ["add"],
    ["remove"],
    ["add", "ruby", "nosuch"],
    ["remove", "lua", "../lua"],
    ["install", "ruby"],
  ]) {
    const { code, stderr } = await fake.run("languages", ...args);
    assert.notEqual(code, 0);
    assert.match(stderr, /assay languages/);
    assert.deepEqual(await installed(fake), ["lua"]);
  }
});

test("layers of earlier images are removed with these images", async () => {
  using fake = withPacks();
  await change(fake, "add", "lua");
  const build = readFileSync(join(fake.checkout, "image/build"), "utf8");
  for (let version = 0; version < 5; version++) {
    fake.write("image/build", `${build}# ${version}\n`, 0o755);
    await change(fake, "add", "lua");
    assert.ok(fake.list("layers").length <= 3, `${fake.list("layers").length} layers`);
  }
  assert.deepEqual(await installed(fake), ["lua"]);
});

for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const)
  test(`${signal} during an add ends the builds of all layers; it can be repeated`, async () => {
    using fake = withPacks();
    await change(fake, "add", "lua");
    const slow = join(fake.root, "slow");
    writeFileSync(slow, "");
    const drafts = () => fake.list("layers").filter((name) => name.includes(".tmp."));
    const adding = fake.start("languages", "add", "ruby", "tcl");
    await until(() => drafts().length === 2);
    adding.child.kill(signal);
    const { code } = await adding.end();
    assert.equal(code, { SIGINT: 130, SIGTERM: 143, SIGKILL: null }[signal]);
    await until(() => processesBelow(fake.data).length === 0);
    assert.deepEqual(await installed(fake), ["lua"]);
    assert.deepEqual([drafts(), fake.list("layers").length], [[], 1]);
    rmSync(slow);
    await change(fake, "add", "ruby");
    assert.deepEqual(await installed(fake), ["lua", "ruby"]);
  });

test("a running service keeps its image, and the next start has the new choice", async () => {
  using fake = withPacks();
  const service = fake.start("serve", "--languages", "ruby,lua");
  await service.says(/"uid"/);
  await change(fake, "remove", "ruby");
  assert.deepEqual(images(fake), ["lua", "lua,ruby"]);
  service.child.kill("SIGTERM");
  assert.equal((await service.end()).code, 0);
  await change(fake, "add", "tcl");
  assert.deepEqual(images(fake), ["lua", "lua,tcl"]);
});

/** Gives the fake units, with their settings below its root, and a systemctl that does nothing. */
function withUnits(fake: FakeCheckout): { settings: string; install: () => string } {
  const [units, settings] = [join(fake.root, "units"), join(fake.root, "settings")];
  mkdirSync(units, { recursive: true });
  const real = readFileSync(join(REAL, "setup/units.sh"), "utf8");
  const moved = real
    .replace(/^units_dir=.*$/m, `units_dir=${units}`)
    .replace(/^settings_file=.*$/m, `settings_file=${settings}`);
  fake.write("setup/units.sh", moved);
  const script =
    'checkout=$1 data=$2; . "$1/setup/log.sh"; . "$1/setup/units.sh"; changed() { :; }; make_settings; cat "$settings_file"';
  const environment = { PATH: process.env.PATH, ASSAY_WORKERS: "2", ASSAY_LANGUAGES: "ruby" };
  return {
    settings,
    install: () => {
      writeFileSync(join(units, "assay.service"), `ExecStart=${fake.data}/current/node\n`);
      return execFileSync("sh", ["-euc", script, "sh", fake.checkout, fake.data], {
        env: environment,
        encoding: "utf8",
      });
    },
  };
}

test("the first installation leaves the choice to later commands", async () => {
  using fake = withPacks();
  const { install } = withUnits(fake);
  const written = install();
  assert.match(written, /^ASSAY_WORKERS=2$/m);
  assert.doesNotMatch(written, /ASSAY_LANGUAGES/);
  await change(fake, "add", "lua");
  assert.deepEqual(await installed(fake), ["lua"]);
});

test("a choice that the units would not see is refused", async () => {
  using fake = withPacks();
  const { install, settings } = withUnits(fake);
  install();
  writeFileSync(settings, "ASSAY_LANGUAGES=ruby\n");
  const { code, stderr } = await fake.run("languages", "add", "lua");
  assert.equal(code, 1);
  assert.match(stderr, /settings has ASSAY_LANGUAGES, which decides: change or remove that line/);
  assert.deepEqual(await installed(fake), []);
});

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    assert.ok(tries < 1000, "waited 10 s in vain");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("separate software takes packs, in its data directory, and returns to its own image without them", async () => {
  using fake = withPacks();
  const assay = await fake.prebuilt();
  const built = fake.count("image-built");
  const data = join(fake.root, "volume");
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Command(assay, args, { ASSAY_DATA: data }).end();
    assert.equal(code, 0, stderr);
    return stdout + stderr;
  };
  assert.match(await run("languages", "add", "lua"), /copying the sandbox's root file system/);
  assert.match(await run("languages", "list"), /^lua +installed /m);
  const [composed = ""] = readdirSync(join(data, "image")).filter((name) =>
    existsSync(join(data, "image", name, "layers")),
  );
  assert.deepEqual(readdirSync(join(data, "image", composed, "rootfs")), ["lua"]);
  // A later command finds everything.
  const serve = new Command(assay, ["serve"], { ASSAY_DATA: data });
  await serve.says(/first administrator, in here/);
  serve.child.kill("SIGTERM");
  const { code, stderr } = await serve.end();
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /copying|adding the files/);
  await run("languages", "remove", "lua");
  assert.equal(readFileSync(join(data, "languages"), "utf8"), "none\n");
  assert.equal(fake.count("image-built"), built);
  assert.ok(!existsSync(join(fake.data, "layers")));
});
