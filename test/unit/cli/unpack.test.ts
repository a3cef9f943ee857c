import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { unpack } from "../../../src/cli/unpack.ts";
import { OperatorError } from "../../../src/domain/operator-error.ts";

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "unpack-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** An archive of members of a directory, in this order. */
function archive(from: string, ...members: readonly string[]): Readable {
  const bytes = execFileSync("tar", ["-C", from, "--no-recursion", "-cf", "-", ...members]);
  return Readable.from([bytes]);
}

test("a second archive does not write through a link of the first", async (t) => {
  const base = directory(t);
  const [source, victim, to] = [join(base, "source"), join(base, "victim"), join(base, "to")];
  mkdirSync(source);
  mkdirSync(victim);
  symlinkSync(victim, join(source, "a"));
  assert.deepEqual(await unpack(archive(source, ".", "./a"), to), ["a"]);
  rmSync(join(source, "a"));
  mkdirSync(join(source, "a"));
  writeFileSync(join(source, "a", "authorized_keys"), "key");
  await unpack(archive(source, "./a/authorized_keys"), to);
  assert.deepEqual(readdirSync(victim), []);
  assert.equal(readFileSync(join(to, "a", "authorized_keys"), "utf8"), "key");
  await assert.rejects(unpack(archive(source, "./a/authorized_keys"), to), OperatorError);
  assert.deepEqual(readdirSync(base).toSorted(), ["source", "to", "victim"]);
});

test("links that lead out, set-user-ID bits and what is no file are left out", async (t) => {
  const base = directory(t);
  const [source, to] = [join(base, "source"), join(base, "to")];
  const links = {
    "sub/up": "../file",
    "sub/top": "..",
    same: "./sub/../file",
    back: "sub/top/../x",
    absolute: "/etc/passwd",
    out: "../../x",
    near: "file",
  };
  mkdirSync(join(source, "sub"), { recursive: true });
  writeFileSync(join(source, "file"), "x");
  chmodSync(join(source, "file"), 0o4755);
  for (const [name, end] of Object.entries(links)) symlinkSync(end, join(source, name));
  execFileSync("mkfifo", [join(source, "pipe")]);
  const members = [".", "./file", "./sub", ...Object.keys(links).map((name) => `./${name}`), "./pipe"];
  assert.deepEqual(await unpack(archive(source, ...members), to), ["absolute", "back", "out", "pipe", "same"]);
  assert.equal(lstatSync(join(to, "file")).mode & 0o7000, 0);
  assert.deepEqual(readdirSync(to).toSorted(), ["file", "near", "sub"]);
  assert.deepEqual(readdirSync(join(to, "sub")).toSorted(), ["top", "up"]);
});

test("nothing remains of an archive that cannot be unpacked", async (t) => {
  const base = directory(t);
  await assert.rejects(unpack(Readable.from([Buffer.alloc(2_000, 1)]), join(base, "to")));
  assert.deepEqual([existsSync(join(base, "to")), readdirSync(base)], [false, []]);
  assert.ok(existsSync(dirname(base)));
});
