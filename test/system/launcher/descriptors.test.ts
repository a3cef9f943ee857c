import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, release, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startLauncher } from "../../support/launcher/launcher.ts";

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
