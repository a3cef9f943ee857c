import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";

const CHECKOUT = resolve(import.meta.dirname, "../../..");

/** The packages that set-up would install for a command. */
function needed(command: string, mode = "plain", long = "no"): string[] {
  const script = `checkout=$1 command=$2 test_mode=$3; . "$checkout/setup/release.sh"; . "$checkout/setup/machine.sh"; needed_packages`;
  const env = { ...process.env, ASSAY_TEST_LONG: long };
  const words = execFileSync("sh", ["-c", script, "sh", CHECKOUT, command, mode], { encoding: "utf8", env });
  return words.trim().split("\n");
}

function listed(file: string): string[] {
  const lines = readFileSync(resolve(CHECKOUT, "setup", file), "utf8").split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(" ")[0] ?? "");
}

test("packages for tests are installed only by the test command", () => {
  const tests = listed("packages-test");
  assert.ok(tests.includes("chromium"));
  for (const command of ["serve", "run", "keys", "doctor", "bench"]) {
    for (const name of tests) assert.equal(needed(command).includes(name), false, `${command}: ${name}`);
    for (const name of listed("packages")) assert.ok(needed(command).includes(name), `${command}: ${name}`);
  }
  for (const name of [...listed("packages"), ...tests]) assert.ok(needed("test").includes(name), name);
});

test("packages that pack the clients are installed only by the release and by the tests", () => {
  const clients = listed("packages-clients");
  assert.ok(clients.includes("python3-hatchling"));
  for (const name of clients) {
    for (const command of ["test", "release"]) assert.ok(needed(command).includes(name), `${command}: ${name}`);
    for (const command of ["serve", "bench"]) assert.equal(needed(command).includes(name), false, command);
  }
});

test("packages for the full test are installed only by it", () => {
  const full = listed("packages-full");
  assert.ok(full.includes("clang"));
  for (const name of full) {
    assert.ok(needed("test", "full").includes(name), name);
    for (const command of ["test", "serve", "bench"]) assert.equal(needed(command).includes(name), false, command);
    assert.equal(needed("serve", "full").includes(name), false, name);
  }
  for (const name of listed("packages-test")) assert.ok(needed("test", "full").includes(name), name);
});

test("packages for long tests are installed only by them and by the full test", () => {
  const long = listed("packages-long");
  assert.ok(long.includes("podman"));
  for (const name of long) {
    assert.ok(needed("test", "plain", "yes").includes(name), name);
    assert.ok(needed("test", "full").includes(name), name);
    for (const command of ["test", "serve"]) assert.equal(needed(command).includes(name), false, command);
    assert.equal(needed("serve", "plain", "yes").includes(name), false, name);
  }
  for (const name of listed("packages-full")) assert.equal(needed("test", "plain", "yes").includes(name), false, name);
});
