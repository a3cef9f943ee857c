import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

const UML = resolve(import.meta.dirname, "uml");

/** Boots what a kernel could be: a shell script, which is given DIR as a kernel passes it on to process 1. */
async function boot(t: TestContext, script: string, { seconds = 60, interrupt = false } = {}) {
  const place = mkdtempSync(join(tmpdir(), "uml-"));
  t.after(() => rmSync(place, { recursive: true }));
  const dir = join(place, "run");
  mkdirSync(dir);
  const kernel = join(place, "linux");
  writeFileSync(kernel, `#!/bin/sh\ndir=${dir}\n${script}\n`);
  chmodSync(kernel, 0o755);
  return await new Promise<{ code: number; console: string; words: string; left: string[] }>((done) => {
    const child = execFile(UML, [place, dir, "/", String(seconds)], (_error, console, words) => {
      done({ code: child.exitCode ?? -1, console, words, left: processesThatName(place) });
    });
    // Its first words say that it hears signals by now.
    if (interrupt) child.stdout?.once("data", () => child.kill("SIGTERM"));
  });
}

function processesThatName(path: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(path);
    } catch {
      return false; // it ended while we looked
    }
  });
}

test("what the command says and how it ends is passed on", async (t) => {
  const good = await boot(t, `echo "all is well"; echo 0 > $dir/status`);
  assert.deepEqual(good, { code: 0, console: "all is well\n", words: "", left: [] });
  assert.equal((await boot(t, `echo 1 > $dir/status`)).code, 1);
});

test("a kernel that ends without a result fails, and its console stands there", async (t) => {
  const { code, console, words } = await boot(t, "echo 'Kernel panic'; exit 3");
  assert.deepEqual([code, console], [1, "Kernel panic\n"]);
  assert.match(words, /^user-mode Linux ended with 3 and without a result/);
});

const HANGS = `trap "" TERM; echo "the last words"; sh -c "sleep 600; : $dir" & wait; sleep 600`;

test("a kernel that hangs is killed with all that it has started, and its console stands there", async (t) => {
  const hung = await boot(t, HANGS, { seconds: 1 });
  assert.deepEqual([hung.code, hung.console, hung.left], [1, "the last words\n", []]);
  assert.match(hung.words, /^user-mode Linux did not end within 1 s and was killed/m);
});

test("an interrupt ends a kernel, whatever it does", async (t) => {
  const { code, words, left } = await boot(t, HANGS, { interrupt: true });
  assert.deepEqual([code, left], [1, []]);
  assert.match(words, /^user-mode Linux was interrupted$/m);
});
