import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { assay } from "../../support/cli/processes.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { PACKAGES, toFiles } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";

const LIMIT = { timeout: 60_000 };

let launcher: Launcher;
let directory: string;
before(async () => {
  launcher = await startLauncher({ slots: 2 });
  directory = mkdtempSync(join(tmpdir(), "assay-judge-"));
});
after(async () => {
  rmSync(directory, { recursive: true });
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

function put(path: string, data: string | Buffer): string {
  const full = join(directory, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, data);
  return full;
}

async function judge(...args: string[]) {
  const { code, stdout, stderr } = await assay("judge", ...args, "--json", "--launcher-socket", launcher.socket);
  return { code, stderr, judged: stdout === "" ? null : JSON.parse(stdout) };
}

test("judges a program on the tests of a directory, in the order of their numbers", LIMIT, async () => {
  for (const name of ["2", "10", "1"]) {
    put(`tests/${name}.in`, `${name}\n`);
    put(`tests/${name}.ans`, `${Number(name) * 2}\n`);
  }
  const tests = ["--tests", join(directory, "tests")];
  const right = await judge(put("right.py", "print(int(input()) * 2)"), ...tests);
  assert.deepEqual([right.code, right.judged.verdict, right.judged.score], [0, "AC", 3]);
  assert.deepEqual(
    right.judged.tests.map(({ name }: { name: string }) => name),
    ["1", "2", "10"],
  );
  const wrong = await judge(put("wrong.py", "n = int(input()); print(n * n)"), ...tests);
  assert.deepEqual([wrong.code, wrong.judged.verdict, wrong.judged.score], [1, "WA", 1]);
});

test("judges a program on a package, from a directory or a ZIP file, with its checker", LIMIT, async () => {
  for (const [path, data] of toFiles(PACKAGES.guess)) put(`guess/${path}`, data);
  const members = [...toFiles(PACKAGES.guess)].map(([name, data]) => ({ name: `guess/${name}`, data }));
  const archive = put("guess.zip", zipOf(members));
  for (const problem of [join(directory, "guess"), archive]) {
    const right = await judge(join(directory, "guess/submissions/accepted/search.py"), "--problem", problem);
    assert.deepEqual([right.code, right.judged?.verdict], [0, "AC"], right.stderr);
  }
  const lost = await judge(put("lost.py", "print(5, flush=True); input()"), "--problem", archive);
  assert.deepEqual([lost.code, lost.judged.verdict], [1, "WA"]);
});

test("needs either tests or a problem", LIMIT, async () => {
  const source = put("none.py", "");
  for (const args of [[], ["--tests", directory, "--problem", directory]]) {
    const { code, stderr } = await judge(source, ...args);
    assert.deepEqual([code, stderr], [1, "assay: give either --tests or --problem\n"]);
  }
});
