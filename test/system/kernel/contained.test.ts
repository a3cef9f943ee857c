import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { makePlace, type Run, run } from "./places.ts";

/** The file in the directory of its tools that each runner starts as kernel. */
const KERNELS = {
  uml: { file: "linux", host: "user-mode Linux" },
  qemu: { file: "qemu", host: "the emulated machine" },
} as const;

for (const [runner, { file, host }] of Object.entries(KERNELS)) {
  /** Boots a shell script as kernel. It gets DIR, as a kernel passes it on to process 1. */
  const boot = (t: TestContext, script: string, how: Run = {}) => {
    const place = makePlace(t);
    const kernel = join(place.tools, file);
    writeFileSync(kernel, `#!/bin/sh\ndir=${place.dir}\n${script}\n`);
    chmodSync(kernel, 0o755);
    return run(runner, place, how);
  };

  describe(`a kernel that test/system/kernel/${runner} boots`, { concurrency: true }, () => {
    test("passes on the output and the status of the command", async (t) => {
      const good = await boot(t, 'echo "all is well"; echo 0 > $dir/status');
      assert.deepEqual(good, { code: 0, console: "all is well\n", words: "", left: [] });
      assert.equal((await boot(t, "echo 1 > $dir/status")).code, 1);
    });

    test("fails if it ends without a result, with its console output", async (t) => {
      const { code, console, words } = await boot(t, "echo 'Kernel panic'; exit 3");
      assert.deepEqual([code, console], [1, "Kernel panic\n"]);
      assert.match(words, new RegExp(`^${host} ended with 3 and without a result`));
    });

    const hangs = 'trap "" TERM; echo "the last words"; sh -c "sleep 600; : $dir" & wait; sleep 600';

    test("is killed with its processes if it hangs, with its console output", async (t) => {
      const hung = await boot(t, hangs, { seconds: 3 });
      assert.deepEqual([hung.code, hung.console, hung.left], [1, "the last words\n", []]);
      assert.match(hung.words, new RegExp(`^${host} did not end within 3 s and was killed`, "m"));
    });

    test("is not waited for if it does not halt after its command, and the result counts", async (t) => {
      const late = await boot(t, `echo 0 > $dir/status; ${hangs}`, { seconds: 60 });
      assert.deepEqual([late.code, late.console, late.left], [0, "the last words\n", []]);
      assert.match(
        late.words,
        new RegExp(`^${host} did not halt within 10 s of the end of its command, and was killed`, "m"),
      );
    });

    test("is ended by an interrupt, regardless of its work", async (t) => {
      const { code, words, left } = await boot(t, hangs, { interrupt: true });
      assert.deepEqual([code, left], [1, []]);
      assert.match(words, new RegExp(`^${host} was interrupted$`, "m"));
    });
  });
}
