import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { PACKAGES } from "../../support/problems/packages.ts";
import { installation } from "../faults/real-serve.ts";

test("a package that only root can read is imported, also with a measured time limit; a failure of either process ends both", {
  timeout: 240_000,
}, async (t) => {
  const home = installation(t);
  const root = mkdtempSync(join(tmpdir(), "assay-package-")); // mode 0700
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries(PACKAGES.sum)) {
    const full = join(root, "sum", path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
  }
  const output = join(root, "output");
  const run = async (...args: string[]) => {
    writeFileSync(output, "");
    const [code, stderr] = await home.piped("/dev/null", output, ...args);
    return { code, stderr, stdout: readFileSync(output, "utf8") };
  };
  const import_ = (...flags: string[]) => run("problems", "import", join(root, "sum"), "--account", "shop", ...flags);
  assert.equal((await run("accounts", "create", "--name", "shop")).code, 0);

  const given = await import_("--time-limit", "1.5");
  assert.equal(given.code, 0, given.stderr);
  assert.match(given.stdout, /: version 1 of sum, 3 tests, time limit 1\.5 s\n$/);
  const measured = await import_();
  assert.equal(measured.code, 0, measured.stderr);
  assert.match(measured.stdout, /: version 2 of sum, 3 tests, time limit 1 s\n$/);
  assert.match(
    measured.stderr,
    /has no time limit.*--time-limit.*limits\.time_limit[\s\S]*submissions\/accepted\/sum\.py/,
  );

  // If the account is unknown, the command stops without measuring the submissions to their end.
  const slow = join(root, "sum/submissions/accepted/slow.py");
  writeFileSync(slow, "import time\ntime.sleep(2)\nprint(sum(map(int, input().split())))\n");
  const none = await run("problems", "import", join(root, "sum"), "--account", "none");
  assert.deepEqual([none.code, none.stdout], [1, ""]);
  assert.match(none.stderr, /there is no account none/);
  assert.doesNotMatch(none.stderr, /accepted\/two/);
  writeFileSync(slow, "print(0)\n");
  const faulty = await import_();
  assert.deepEqual([faulty.code, faulty.stdout], [1, ""]);
  assert.match(faulty.stderr, /accepted\/slow\.py: cannot be measured for the time limit: WA on sample\/1/);
  // A signal ends the measurement with its launcher; the run of the tests fails if a process or a control group is left.
  writeFileSync(slow, "import time\ntime.sleep(60)\n");
  const child = spawn(join(home.checkout, "assay"), ["problems", "import", join(root, "sum"), "--account", "shop"], {
    env: home.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "exit");
  for await (const words of child.stderr) if (`${words}`.includes("slow.py")) child.kill("SIGTERM");
  assert.deepEqual(await ended, [143, null]);
  rmSync(slow);

  // The package is larger than a pipe, and the process that should read it has ended.
  writeFileSync(join(root, "sum/data/secret/1-small.in"), Buffer.alloc(4_000_000, "1 2\n"));
  const unknown = await run("problems", "import", join(root, "sum"), "--account", "none", "--time-limit", "1");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /there is no account none/);

  const listed = await run("problems", "list", "--account", "shop", "--json");
  assert.deepEqual(
    JSON.parse(listed.stdout).map((one: { version: number }) => one.version),
    [2],
    listed.stderr,
  );
  assert.equal((await run("problems", "delete", "sum", "--account", "shop")).code, 0);
});
