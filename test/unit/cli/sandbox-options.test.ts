import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Command } from "commander";
import { sandboxCommand } from "../../../src/cli/sandbox.ts";
import { factsOf } from "../../../src/cli/sandbox-lists.ts";
import { checkNoCreation, creationOf, type Given, pair, withCreation } from "../../../src/cli/sandbox-options.ts";
import { ROOT } from "../../support/repo/documents.ts";

const MIB = 1_048_576;

/** The values of the options of a command that can create a sandbox. */
function parsed(...args: readonly string[]): Given {
  const command = withCreation(new Command("create"))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return command.parse([...args], { from: "user" }).opts();
}

const request = (...args: readonly string[]) => creationOf(parsed(...args));

test("options become the request for a sandbox, and what is not given is left to the service", () => {
  assert.deepEqual(request(), {});
  assert.deepEqual(request("--lifetime", "60", "--idle", "5", "--from", "s", "--on-timeout", "snapshot"), {
    ...{ lifetime_secs: 60, idle_secs: 5, from: "s", on_timeout: "snapshot" },
  });
  const memory = ["--memory", "512", "--files", "64", "--inodes", "300", "--cpus", "2", "--processes", "9"];
  assert.deepEqual(request(...memory), {
    limits: { memory_bytes: 512 * MIB, disk_bytes: 64 * MIB, inodes: 300, cpus: 2, processes: 9 },
  });
  assert.deepEqual(request("--disk", "8", "--memory", "64"), {
    limits: { memory_bytes: 64 * MIB, storage: "disk", disk_bytes: 8192 * MIB },
  });
  assert.deepEqual(request("--allow", "api.example.com:80,443", "--allow", "2001:db8::/32:443"), {
    network: {
      allow: [
        { host: "api.example.com", ports: [80, 443] },
        { cidr: "2001:db8::/32", ports: [443] },
      ],
    },
  });
});

test("what cannot be meant is refused", () => {
  assert.throws(() => parsed("--disk", "8", "--files", "64"), /'--disk <GiB>' cannot be used with option '--files/);
  assert.throws(() => parsed("--disk", "8", "--inodes", "64"), /cannot be used with option '--inodes/);
  assert.throws(() => parsed("--allow", "a.example.org:1", "--network", "f"), /cannot be used with option '--network/);
  for (const rule of ["", "example.org", ":443", "example.org:", "example.org:https", "example.org:80,"])
    assert.throws(() => parsed("--allow", rule), /must be HOST:PORT/);
  assert.throws(() => request("--network", "/nowhere"), /no such file/);
  assert.throws(() => checkNoCreation(parsed("--allow", "a.example.org:1")), /--allow is only for a new sandbox/);
  assert.throws(() => parsed("--cpus", "1.5"), /must be a whole number/);
  assert.throws(() => parsed("--on-timeout", "sleep"), /Allowed choices are end, snapshot/);
  assert.throws(() => checkNoCreation(parsed("--memory", "64")), /^Error: --memory is only for a new sandbox/);
  assert.doesNotThrow(() => checkNoCreation(parsed()));
});

test("a pair is split at the first sign of equality, and needs a name and the sign", () => {
  assert.deepEqual(pair("a=b=c", pair("x=")), { x: "", a: "b=c" });
  for (const text of ["", "a", "=b"]) assert.throws(() => pair(text), /must be NAME=VALUE/);
});

test("a record is printed as one line for each field, without characters that move a cursor", () => {
  const record = { id: "x", limits: { cpus: 1 }, end: null, metadata: { "a\u001b": "b\nc" }, samples: [{ at: 1 }] };
  assert.deepEqual(factsOf(record), [
    ...["id  x", "limits.cpus  1", "end  null", "metadata.a\\u{1b}  b\\u{a}c", 'samples  [{"at":1}]'],
  ]);
});

test("`assay help` names every command of sandbox", () => {
  const help = readFileSync(join(ROOT, "assay"), "utf8");
  const [, text = ""] = /^ {2}sandbox {4}(.*?)^ {2}status/ms.exec(help) ?? [];
  for (const verb of sandboxCommand().commands) assert.match(text, new RegExp(`\\b${verb.name()}\\b`));
});
