import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { assay } from "../../support/cli/processes.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";

const LIMIT = { timeout: 120_000 };

let launcher: Launcher;
let directory: string;
before(async () => {
  launcher = await startLauncher({ slots: 2 });
  directory = mkdtempSync(join(tmpdir(), "assay-packages-"));
});
after(async () => {
  rmSync(directory, { recursive: true });
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

/** The package `sum` with submissions in Python only, which need no compiler. */
const SUM: PackageTexts = Object.fromEntries(
  Object.entries(PACKAGES.sum).filter(([path]) => /^(problem|data|input|submissions\/accepted\/sum\.py)/.test(path)),
);

function write(name: string, texts: PackageTexts): string {
  for (const [path, text] of Object.entries(texts)) {
    const at = join(directory, name, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
  }
  return join(directory, name);
}

const verify = (path: string, ...flags: string[]) =>
  assay("problems", "verify", path, ...flags, "--launcher-socket", launcher.socket);

test(
  "a directory of packages has a line for each package and each fault, and one that cannot be read stops none",
  LIMIT,
  async () => {
    const all = join(directory, "contest");
    write("contest/a/clean", SUM);
    write("contest/b-wrong", {
      ...SUM,
      "submissions/accepted/zero.py": "print(0)\n",
      "submissions/accepted/one.py": "print(1)\n",
    });
    write("contest/c-unreadable", { ...SUM, "problem.yaml": "name: [\n" });
    write("contest/d-skips", {
      ...SUM,
      "input_validators/sum.ctd": "INT(0,1) NEWLINE\n",
      "data/invalid_input/1.in": "1 2\n",
    });
    write("contest/notes", { "problem.txt": "no package\n" });
    writeFileSync(join(all, "e.zip"), zipOf(Object.entries(SUM).map(([name, data]) => ({ name: `e/${name}`, data }))));
    symlinkSync("/", join(all, "root"));
    symlinkSync("a", join(all, "linked"));
    const { code, stdout } = await verify(all);
    assert.equal(code, 1);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/\([\d.]+ of [\d.]+ s of CPU time\)/, "(TIME of CPU time)"));
    const unreadable = lines.find((line) => /^ +problem\.yaml:\d+: /.test(line));
    assert.ok(unreadable);
    assert.deepEqual(lines, [
      "readable  clean  package",
      `yes       yes    ${all}/a/clean`,
      `yes       no     ${all}/b-wrong`,
      '                   submissions/accepted/one.py: WA on sample/1 instead of AC (TIME of CPU time): token 1: expected "3", got "1"',
      '                   submissions/accepted/zero.py: WA on sample/1 instead of AC (TIME of CPU time): token 1: expected "3", got "0"',
      `no        no     ${all}/c-unreadable`,
      unreadable,
      `yes       yes    ${all}/d-skips`,
      "                   skipped: input_validators/sum.ctd: is in no installed language",
      "                   skipped: data/invalid_input/1.in: no other input validator rejects it",
      `yes       yes    ${all}/e.zip`,
      "4 of 5 packages can be read, 3 have no fault",
    ]);

    const json = await verify(join(all, "a"), "--json");
    assert.equal(json.code, 0);
    assert.deepEqual(JSON.parse(json.stdout), {
      ...{ path: `${all}/a/clean`, isReadable: true, isClean: true, faults: [], skipped: [] },
    });
  },
);

test("a package by itself is a table of its submissions", LIMIT, async () => {
  const { code, stdout } = await verify(write("sum", { ...SUM, "input_validators/sum.ctd": "INT(0,1) NEWLINE\n" }));
  assert.equal(code, 0);
  assert.match(stdout, /^submission +language .*\nsubmissions\/accepted\/sum\.py +python +AC .* as expected\n/);
  assert.match(stdout, /\ntime limit \d+ s\nskipped: input_validators\/sum\.ctd: is in no installed language\n$/);
});

test("submissions in Python run in the language that is named", LIMIT, async () => {
  const path = write("other", SUM);
  // A program in Python is no program in JavaScript, so the table shows in which language it ran.
  const { code, stdout } = await verify(path, "--python", "javascript");
  assert.equal(code, 1);
  assert.match(stdout, /\nsubmissions\/accepted\/sum\.py +javascript +RTE .* 1 fault\n/);
  const unknown = await verify(path, "--python", "no-such");
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(unknown.stderr, /--python: no-such is no installed language/);
});

test("a directory that cannot be read is one line, and its name cannot move the cursor", LIMIT, async () => {
  const strange = join(directory, "strange\x1b[2J");
  write("strange\x1b[2J/a", SUM);
  mkdirSync(Buffer.concat([Buffer.from(`${strange}/`), Buffer.from([0xff])]));
  const { code, stdout, stderr } = await verify(strange);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /\nyes +yes +.*\/a\nno +no +.*\n +.*cannot be read: ENOENT\n1 of 2 packages can be read, 1 have no fault\n$/,
  );
  assert.doesNotMatch((stdout + stderr).replaceAll("\n", ""), /\p{Cc}/u);
});

test("a directory without a package is an error, and so is a path that does not exist", LIMIT, async () => {
  const none = await verify(write("none", { "a/b.txt": "" }));
  assert.equal(none.code, 1);
  assert.match(none.stderr, /none: has neither problem\.yaml nor init\.yml nor .*, and contains no package/);
  assert.match((await verify(join(directory, "missing"))).stderr, /cannot be read: ENOENT/);
});
