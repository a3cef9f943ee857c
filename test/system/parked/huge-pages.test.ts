import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, statfsSync } from "node:fs";
import { arch, release } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { plan } from "../../../src/worker/plan.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { environment, startLauncher } from "../../support/launcher/launcher.ts";

// This file runs alone: if a program of another test had the interpreter in memory, in small pages, these would stay.

/** The type of ext4 in statfs. Its cached pages can be huge since Linux 6.16. */
const EXT4 = 0xef53;
const [major = 0, minor = 0] = release().split(".").map(Number);
const hasHugePages =
  statfsSync(environment("ASSAY_TEST_IMAGE")).type === EXT4 && (major > 6 || (major === 6 && minor >= 16));

/**
 * Removes the pages of the large files of a directory from memory, except those that a program uses. The launcher then reads the files
 * in huge pages, as after a boot. Otherwise, a part of the pages could be small ones that were read since the last set-up.
 */
function dropPages(directory: string): void {
  for (const { parentPath, name } of readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile()))
    execFileSync("dd", [`if=${join(parentPath, name)}`, "iflag=nocache", "count=0", "status=none"]);
}

test("processes share a frozen program's file in huge pages", {
  timeout: 60_000,
  skip:
    (arch() !== "x64" && "interpreters are frozen only on x86-64") || (!hasHugePages && "needs Linux 6.16 and ext4"),
}, async (t) => {
  dropPages(join(environment("ASSAY_TEST_IMAGE"), "rootfs/opt/assay/node"));
  const launcher = await startLauncher({ slots: 1, lockImage: true });
  t.after(() => launcher.stop());
  const slot = await Slot.open(launcher.socket);
  t.after(() => slot.close());
  const languages = loadLanguages(LANGUAGES);
  const language = languages.resolve("javascript");
  assert.ok(language);
  const code = `const maps = require("node:fs").readFileSync("/proc/self/smaps", "latin1");
    const sizes = [...maps.matchAll(/^FilePmdMapped: +([0-9]+) kB$/gm)].map(([, kib]) => Number(kib));
    console.log(sizes.reduce((sum, kib) => sum + kib, 0));`;
  const program = { code: Buffer.from(code), stdin: Buffer.alloc(0) };
  const { execute } = await runSteps(slot, plan(language, languages.limitsFor(language, "judge"), program));
  assert.ok(Number(execute?.stdout) >= 2 * 1024, `${execute?.stdout} KiB ${execute?.stderr}`);
});
