import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";

const root = resolve(import.meta.dirname, "../../..");
const assay = (...args: string[]) => spawnSync(join(root, "assay"), args, { encoding: "utf8" });

test("help is printed on request and without arguments", () => {
  for (const args of [["help"], ["--help"], ["-h"], []]) {
    const { status, stdout } = assay(...args);
    assert.equal(status, 0);
    assert.match(stdout, /^usage: sudo \.\/assay COMMAND/);
  }
});

test("every command prints help before it sets anything up", () => {
  const data = "/nowhere/at/all";
  const named = [...assay("help").stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name ?? "");
  for (const command of named.filter((name) => !["help", "version"].includes(name))) {
    const { status, stdout } = assay(command, "--help", "--data", data);
    assert.equal(status, 0, command);
    assert.match(stdout, /^usage: /i, command);
    assert.equal(existsSync(data), false, command);
  }
  assert.match(assay("keys", "create", "--help").stdout, /^Usage: assay keys create/);
});

test("help lists exactly the existing commands", () => {
  const named = [...assay("help").stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name);
  const source = readFileSync(join(root, "assay"), "utf8");
  const known = /^(serve \|.*)\) ;;$/m.exec(source)?.[1]?.split(" | ") ?? [];
  assert.deepEqual(named.toSorted(), [...known, "help", "version"].toSorted());
});

test("prints the version of package.json", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.equal(assay("version").stdout, `assay ${version}\n`);
});

test("rejects an unknown command and --data without a directory", () => {
  assert.equal(assay("sevre").status, 2);
  assert.match(assay("sevre").stderr, /unknown command 'sevre'/);
  assert.equal(assay("serve", "--data").status, 2);
  assert.equal(assay("serve", "--data=").status, 2);
  assert.equal(assay("serve", "--workers", "two", "--data", "/nowhere/at/all").status, 2);
});

test("a processor without a system call table is rejected before any change", (t) => {
  using fake = new FakeCheckout();
  const before = readdirSync(fake.data);
  // The kernel then reports a 32-bit processor, as for a 32-bit system.
  const command = ["linux32", join(fake.checkout, "assay"), "doctor", "--data", fake.data];
  const { status, stderr } = spawnSync("setarch", command, { encoding: "utf8" });
  if (stderr.includes("Invalid argument")) return t.skip("this kernel has no 32-bit name");
  assert.equal(status, 1);
  assert.match(stderr, /^assay: error: assay runs on x86_64 and aarch64; this kernel reports (i686|armv8l), /);
  assert.deepEqual(readdirSync(fake.data), before);
});

test("without root, the error has the command to run", () => {
  using fake = new FakeCheckout();
  const { status, stderr } = spawnSync(join(fake.checkout, "assay"), ["serve"], { encoding: "utf8", uid: 65534 });
  assert.equal(status, 1);
  assert.match(stderr, /needs root: sudo \.\/assay serve/);
});

test("rejects system directories as data directory", () => {
  for (const directory of ["/", "/home", "/usr/local", "/etc/assay", "/var/lib", "/tmp/..", "//"]) {
    const { status, stderr } = assay("keys", "list", "--data", directory);
    assert.equal(status, 1, directory);
    assert.match(stderr, /is not a place for a data directory/, directory);
  }
});

test("rejects data directories whose names would need quoting", () => {
  for (const directory of ["/tmp/a b", "/tmp/a:b", "/tmp/a'b", "/tmp/a=b", "/tmp/$x", "/tmp/a\nb"]) {
    assert.match(assay("keys", "list", "--data", directory).stderr, /may have letters, digits/, directory);
  }
});

test("rejects a data directory that other users could change or replace", () => {
  using fake = new FakeCheckout();
  const chown = (path: string) => chownSync(path, 65_534, 65_534);
  const [below, own] = [join(fake.root, "way/data"), join(fake.root, "way")];
  const wrong: [how: string, directory: string, change: () => void][] = [
    ["theirs", below, () => chown(below)],
    ["for all", below, () => chmodSync(below, 0o777)],
    ["for all, but sticky", below, () => chmodSync(below, 0o1777)],
    ["for a group", below, () => chmodSync(below, 0o770)],
    ["below theirs", below, () => chown(own)],
    ["below one for all", below, () => chmodSync(own, 0o777)],
    ["theirs, below a sticky one", below, () => [chmodSync(own, 0o1777), chown(below)]],
    ["missing, below theirs", join(below, "new/er"), () => chown(own)],
  ];
  for (const [how, directory, change] of wrong) {
    rmSync(own, { recursive: true, force: true });
    mkdirSync(below, { recursive: true });
    writeFileSync(join(below, ".assay-data"), "");
    change();
    for (const command of [
      ["keys", "list"],
      ["uninstall", "--yes"],
    ]) {
      const { status, stderr } = assay(...command, "--data", directory);
      assert.equal(status, 1, how);
      assert.match(
        stderr,
        /^assay: error: only root may be able to change the data directory, but \S+way\S* .*\n$/,
        how,
      );
    }
  }
  assert.equal(readdirSync(below).length, 1);
});

test("accepts root's data directory below a sticky directory such as /tmp", async () => {
  using fake = new FakeCheckout();
  chmodSync(fake.root, 0o1777);
  assert.equal((await fake.run("keys", "list")).code, 0);
});

test("rejects a data directory that contains the checkout", () => {
  using fake = new FakeCheckout();
  const { status, stderr } = spawnSync(join(fake.checkout, "assay"), ["keys", "--data", fake.root], {
    encoding: "utf8",
  });
  assert.equal(status, 1);
  assert.match(stderr, /contains this checkout/);
});

test("neither fills nor removes a directory with other files", () => {
  using fake = new FakeCheckout();
  const theirs = join(fake.root, "theirs");
  mkdirSync(theirs);
  writeFileSync(join(theirs, "precious"), "");
  const keys = assay("keys", "list", "--data", theirs);
  assert.equal(keys.status, 1);
  assert.match(keys.stderr, /is not empty and was not made by assay/);
  const uninstall = assay("uninstall", "--yes", "--data", theirs);
  assert.equal(uninstall.status, 1);
  assert.match(uninstall.stderr, /was not made by assay/);
  assert.equal(readFileSync(join(theirs, "precious"), "utf8"), "");
});

test("accepts --data anywhere before a bare --, and keeps the order of other arguments", async () => {
  using fake = new FakeCheckout();
  const ended = await fake.run("--data", fake.data, "run", "a b", `--data=${fake.data}`, "c", "--", "--data", "x");
  assert.equal(ended.code, 7, ended.stderr);
  const { args } = JSON.parse(ended.stdout);
  assert.deepEqual(args.slice(-5), ["a b", "c", "--", "--data", "x"]);
  assert.deepEqual(args.slice(0, 2), ["--data", fake.data]);
});

test("administrative commands run as the service user, with arguments, directory and exit code", async () => {
  using fake = new FakeCheckout();
  for (const command of ["accounts", "projects", "webhooks", "tiers", "audit"]) {
    const ended = await fake.run(command, "create", "--name", "a b", `--data=${fake.data}`);
    assert.equal(ended.code, 7, ended.stderr);
    const { uid, ...rest } = JSON.parse(ended.stdout);
    assert.deepEqual(rest, { command, args: ["create", "--name", "a b"], session: "own", data: fake.data });
    assert.notEqual(uid, 0);
  }
  assert.deepEqual(fake.list("run"), []);
  assert.equal(fake.count("image-begun"), 0, "no sandbox is built for them");
});
