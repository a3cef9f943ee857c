import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { LIMIT_ENTRIES } from "../../../src/sandbox/step.ts";
import { environment } from "../../support/launcher/launcher.ts";

const ceilings = readFileSync(new URL("../../../setup/ceilings", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split(" ") as [string, string]);

test("no limit of a language exceeds the launcher's ceilings", () => {
  const languages = installedLanguages();
  for (const [key, most] of ceilings) {
    for (const language of languages.list()) {
      for (const profile of PROFILE_NAMES) {
        for (const limits of Object.values(languages.limitsFor(language, profile))) {
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
