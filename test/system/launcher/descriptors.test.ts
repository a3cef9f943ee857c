import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, release, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { connected, run, step } from "./raw.ts";

const directory = mkdtempSync(join(tmpdir(), "assay-descriptors-"));
after(() => rmSync(directory, { recursive: true }));

const [major = 0, minor = 0] = release().split(".").map(Number);
const old = (major < 6 || (major === 6 && minor < 16)) && "SO_PASSRIGHTS needs Linux 6.16";

test("the kernel refuses descriptors from a client before and after the launcher accepts the connection", {
  skip: old,
}, async () => {
  const program = join(directory, "pass");
  execFileSync("gcc", ["-Wall", "-Wextra", "-Werror", join(import.meta.dirname, "pass-descriptor.c"), "-o", program]);
  const launcher = await startLauncher();
  try {
    const results = execFileSync(program, [launcher.socket], { encoding: "utf8" }).trim();
    assert.equal(results, `${constants.errno.EPERM} ${constants.errno.EPERM}`);
  } finally {
    await launcher.stop();
  }
});

/** Its size follows from the slot's own descriptors, of which there are more with each runtime and file that it holds. */
test("the table of descriptors of a program has one size, whatever its slot holds for others", async () => {
  const launcher = await startLauncher();
  const raw = await connected(launcher.socket);
  try {
    const own = "while read key value; do test $key != FDSize: || echo $value; done < /proc/self/status";
    assert.equal((await run(raw, step(["/bin/sh", "-c", own]))).stdout, "256\n");
  } finally {
    raw.close();
    await launcher.stop();
  }
});
