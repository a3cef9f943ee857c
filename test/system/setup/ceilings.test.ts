import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { LIMIT_ENTRIES } from "../../../src/sandbox/step.ts";
import { environment } from "../../support/launcher/launcher.ts";

const ceilings = readFileSync(new URL("../../../setup/ceilings", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split(" ") as [string, string, ...string[]]);

test("no limit of a language exceeds the launcher's ceilings", () => {
  const languages = installedLanguages();
  for (const [key, most] of ceilings) {
    for (const language of languages.list()) {
      for (const profile of PROFILE_NAMES) {
        for (const limits of [
          ...Object.values(languages.limitsFor(language, profile)),
          ...Object.values(languages.ceilingsFor(language, profile)),
        ]) {
          const value = LIMIT_ENTRIES.find(({ name }) => name === key)?.of(limits);
          assert.ok(
            typeof value === "number" && value <= Number(most),
            `${language.name}, ${profile}: ${value} is above ${key}`,
          );
        }
      }
    }
  }
});

test("each limit that protects the machine has a ceiling", () => {
  const bounded = ceilings.map(([key]) => key);
  const others = LIMIT_ENTRIES.map(({ name }) => name).filter((name) => !bounded.includes(name));
  // They bound one process within the memory and the tasks of its cgroup, which have ceilings.
  assert.deepEqual(others, ["ADDRESS_SPACE_BYTES", "STACK_BYTES", "PROCESSES_RLIMIT"]);
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

/** The arguments that set-up gives the launcher if the operator has set these ceilings. */
function launcherCeilings(setting: string): Map<string, number> {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const script = 'app=$1; . "$app/setup/instance.sh"; launcher_ceilings';
  const output = execFileSync("sh", ["-c", script, "sh", root], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, ASSAY_CEILINGS: setting },
  });
  return new Map(
    output
      .trim()
      .split("\n")
      .map((line) => line.split("="))
      .map(([key = "", most]) => [key, Number(most)]),
  );
}

test("the launcher gets the ceilings of the operator where they are higher, and what follows from them", () => {
  const base = new Map(ceilings.map(([key, most]) => [key, Number(most)]));
  assert.deepEqual(launcherCeilings(""), base);
  assert.deepEqual(launcherCeilings("cpu_time_secs=1,memory_bytes=16777216,stdout_bytes=1"), base);
  const raised = launcherCeilings(
    "cpu_time_secs=300, wall_time_secs=400,compile_memory_bytes=8589934592,memory_bytes=17179869184",
  );
  const changes = {
    WALL_MS: 400_000,
    CPU_MS: 300_000,
    CPU_RLIMIT_SECS: 801,
    MEMORY_BYTES: 17_179_869_184,
    KERNEL_BYTES: 2_147_483_648,
  };
  assert.deepEqual(raised, new Map([...base, ...Object.entries(changes)]));
});
