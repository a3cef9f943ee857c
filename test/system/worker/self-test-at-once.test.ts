import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SelfTest } from "../../../src/worker/self-test.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { broken, someLanguages } from "../../support/worker/some-languages.ts";

/** Smoke tests before a worker starts: several at the same time. */
const LIMIT = { timeout: 20_000 * PATIENCE };
const SLEEP_MS = 2_000 * PATIENCE;
const SLEEPS: Readonly<Record<string, string>> = {
  javascript: `setTimeout(() => console.log("hello"), ${SLEEP_MS});\n`,
  python: `import time\ntime.sleep(${SLEEP_MS / 1_000})\nprint("hello")\n`,
};

async function launcherWith(t: TestContext, slots: number): Promise<string> {
  const launcher = await startLauncher({ slots });
  t.after(() => launcher.stop());
  return launcher.socket;
}

test("start without waiting for each other, and their checks keep the order of the languages", LIMIT, async (t) => {
  const started = new Map<string, number>();
  const languages = someLanguages(["c", "javascript", "python"], (language) => {
    const code = SLEEPS[language.name];
    return code ? { ...language, smokeTest: { code, stdout: "hello\n" } } : broken(language);
  });
  const noting: typeof languages = {
    ...languages,
    limitsFor(language, profile) {
      started.set(language.name, performance.now());
      return languages.limitsFor(language, profile);
    },
  };
  const prover = new SelfTest(await launcherWith(t, 3), noting, undefined, 3);
  t.after(() => prover.close());
  const checks = await prover.proveAll();
  assert.deepEqual(
    checks.map(({ name, ok }) => [name, ok]),
    [
      ["c", false],
      ["javascript", true],
      ["python", true],
    ],
  );
  const times = [...started.values()];
  assert.ok(Math.max(...times) - Math.min(...times) < SLEEP_MS, String([...started]));
  const helpers = prover.takeHelpers();
  assert.deepEqual([helpers.length, helpers.every((slot) => slot.alive), prover.takeHelpers()], [2, true, []]);
  for (const slot of helpers) slot.close();
});

test("use one slot if the launcher has no other", LIMIT, async (t) => {
  const prover = new SelfTest(await launcherWith(t, 1), someLanguages(["c", "python"]), undefined, 3);
  t.after(() => prover.close());
  const checks = await prover.proveAll();
  assert.deepEqual([checks.every(({ ok }) => ok), prover.interrupted, prover.takeHelpers()], [true, false, []]);
});
