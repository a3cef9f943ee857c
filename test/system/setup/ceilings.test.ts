import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { type Limits, PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { cpuRlimit, kernelBytes, tmpInodes, walkableBytes } from "../../../src/sandbox/step.ts";
import { environment } from "../../support/launcher/launcher.ts";

/** For each ceiling of the launcher, the limit of a language, or a value derived from limits, that it must cover. */
const LIMIT_OF: Readonly<Record<string, keyof Limits | ((limits: Limits) => number)>> = {
  MEMORY_BYTES: "memoryBytes",
  KERNEL_BYTES: kernelBytes,
  WALKABLE_BYTES: walkableBytes,
  PROCESSES: "processes",
  WALL_MS: "wallMs",
  CPU_MS: "cpuMs",
  CPU_RLIMIT_SECS: cpuRlimit,
  CPUS: "cpus",
  FILE_BYTES: "fileBytes",
  OPEN_FILES: "openFiles",
  WORK_BYTES: "workBytes",
  WORK_INODES: "workInodes",
  TMP_BYTES: "tmpBytes",
  TMP_INODES: tmpInodes,
  STDOUT_BYTES: "stdoutBytes",
  STDERR_BYTES: "stderrBytes",
};

const ceilings = readFileSync(new URL("../../../setup/ceilings", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split(" ") as [string, string]);

test("no limit of a language exceeds the launcher's ceilings", () => {
  const languages = installedLanguages();
  assert.deepEqual(ceilings.map(([key]) => key).toSorted(), Object.keys(LIMIT_OF).toSorted());
  for (const [key, most] of ceilings) {
    for (const language of languages.list()) {
      for (const profile of PROFILE_NAMES) {
        for (const limits of Object.values(languages.limitsFor(language, profile)) as Limits[]) {
          const limit = LIMIT_OF[key] as keyof Limits | ((limits: Limits) => number);
          const value = typeof limit === "function" ? limit(limits) : (limits[limit] as number);
          assert.ok(value <= Number(most), `${language.name}, ${profile}: ${value} is above ${key}`);
        }
      }
    }
  }
});

test("the launcher accepts each ceiling and rejects unknown keys and raised limits", () => {
  const launcher = environment("ASSAY_TEST_LAUNCHER");
  const describe = (...ceiling: string[]) =>
    JSON.parse(
      execFileSync(launcher, [...ceiling.flatMap((one) => ["--ceiling", one]), "--describe"], { encoding: "utf8" }),
    );
  const { keys } = describe(...ceilings.map(([key, most]) => `${key}=${most}`));
  for (const [key, most] of ceilings) assert.equal(keys[key].largest, most);
  for (const wrong of ["NOTHING=1", "PROCESSES=1000000", "ARG=5", "MEMORY_BYTES", "WALL_MS=x"]) {
    assert.throws(() => execFileSync(launcher, ["--ceiling", wrong, "--describe"], { stdio: "pipe" }), { status: 2 });
  }
});
