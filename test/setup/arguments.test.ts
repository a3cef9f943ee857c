import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";

const root = resolve(import.meta.dirname, "../..");
const assay = (...args: string[]) => spawnSync(join(root, "assay"), args, { encoding: "utf8" });

test("help is printed when asked for, and when nothing is", () => {
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

test("every command that help names exists, and the other way round", () => {
  const named = [...assay("help").stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name);
  const source = readFileSync(join(root, "assay"), "utf8");
  const known = /^(serve \|.*)\) ;;$/m.exec(source)?.[1]?.split(" | ") ?? [];
  assert.deepEqual(named.toSorted(), [...known, "help", "version"].toSorted());
});

test("the version is that of package.json", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.equal(assay("version").stdout, `assay ${version}\n`);
});

test("an unknown command and a --data without its directory are misuse", () => {
  assert.equal(assay("sevre").status, 2);
  assert.match(assay("sevre").stderr, /unknown command 'sevre'/);
  assert.equal(assay("serve", "--data").status, 2);
  assert.equal(assay("serve", "--data=").status, 2);
  assert.equal(assay("serve", "--workers", "two", "--data", "/nowhere/at/all").status, 2);
});

test("a processor that the launcher has no table for is refused before anything is changed", (t) => {
  using fake = new FakeCheckout();
  const before = readdirSync(fake.data);
  // A kernel that names the 32-bit processor, as for a 32-bit system on it.
  const command = ["linux32", join(fake.checkout, "assay"), "doctor", "--data", fake.data];
  const { status, stderr } = spawnSync("setarch", command, { encoding: "utf8" });
  if (stderr.includes("Invalid argument")) return t.skip("this kernel has no 32-bit name");
  assert.equal(status, 1);
  assert.match(stderr, /^assay: error: assay runs on x86_64 and aarch64; this kernel says (i686|armv8l), /);
  assert.deepEqual(readdirSync(fake.data), before);
});

test("who is not root is told what to type", () => {
  using fake = new FakeCheckout();
  const { status, stderr } = spawnSync(join(fake.checkout, "assay"), ["serve"], { encoding: "utf8", uid: 65534 });
  assert.equal(status, 1);
  assert.match(stderr, /needs root: sudo \.\/assay serve/);
});

test("a directory of the system is no data directory", () => {
  for (const directory of ["/", "/home", "/usr/local", "/etc/assay", "/var/lib", "/tmp/..", "//"]) {
    const { status, stderr } = assay("keys", "list", "--data", directory);
    assert.equal(status, 1, directory);
    assert.match(stderr, /is not a place for a data directory/, directory);
  }
});

test("a data directory has a name that needs no quoting anywhere", () => {
  for (const directory of ["/tmp/a b", "/tmp/a:b", "/tmp/a'b", "/tmp/a=b", "/tmp/$x", "/tmp/a\nb"]) {
    assert.match(assay("keys", "list", "--data", directory).stderr, /may have letters, digits/, directory);
  }
});

test("a data directory that somebody else could change, or put another in the place of, is refused", () => {
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
    ["not there, below theirs", join(below, "new/er"), () => chown(own)],
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

test("a data directory of root's may lie below a sticky one, like /tmp", async () => {
  using fake = new FakeCheckout();
  chmodSync(fake.root, 0o1777);
  assert.equal((await fake.run("keys", "list")).code, 0);
});

test("a directory with the checkout in it is no data directory", () => {
  using fake = new FakeCheckout();
  const { status, stderr } = spawnSync(join(fake.checkout, "assay"), ["keys", "--data", fake.root], {
    encoding: "utf8",
  });
  assert.equal(status, 1);
  assert.match(stderr, /contains this checkout/);
});

test("a directory with other people's files in it is neither filled nor removed", () => {
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

test("--data is taken from anywhere before a bare --, the rest keeps its order", async () => {
  using fake = new FakeCheckout();
  const ended = await fake.run("--data", fake.data, "run", "a b", `--data=${fake.data}`, "c", "--", "--data", "x");
  assert.equal(ended.code, 7, ended.stderr);
  const { args } = JSON.parse(ended.stdout);
  assert.deepEqual(args.slice(-5), ["a b", "c", "--", "--data", "x"]);
  assert.deepEqual(args.slice(0, 2), ["--data", fake.data]);
});

test("what operators administer runs as the service user, with the arguments, the directory and the exit code", async () => {
  using fake = new FakeCheckout();
  for (const command of ["accounts", "projects", "webhooks", "tiers", "audit"]) {
    const ended = await fake.run(command, "create", "--name", "a b", `--data=${fake.data}`);
    assert.equal(ended.code, 7, ended.stderr);
    const { uid, ...rest } = JSON.parse(ended.stdout);
    assert.deepEqual(rest, { command, args: ["create", "--name", "a b"], session: "own", data: fake.data });
    assert.notEqual(uid, 0);
  }
  assert.deepEqual(fake.list("run"), []);
  assert.equal(fake.count("image-begun"), 0, "no sandbox is made for them");
});
