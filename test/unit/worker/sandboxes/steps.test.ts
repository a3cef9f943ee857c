import assert from "node:assert/strict";
import { test } from "node:test";
import { EXECUTION_BOUNDS } from "../../../../src/domain/sandboxes/execution.ts";
import { loadLanguages } from "../../../../src/languages/load.ts";
import { limitsOf, movedTo, stepsOf } from "../../../../src/worker/sandboxes/steps.ts";
import { LANGUAGES } from "../../../support/languages/directory.ts";
import { sandboxRequest, shellRequest } from "../../../support/sandboxes/caller.ts";

const { limits } = sandboxRequest();
const languages = loadLanguages(LANGUAGES);

test("a request chooses its time, and otherwise lowers limits; servers have the longest time", () => {
  const times = (requested = {}, isLong = false) => {
    const { wallMs, cpuMs } = limitsOf(limits, requested, isLong);
    return [wallMs / 1000, cpuMs / 1000];
  };
  assert.deepEqual(times(), [60, 60]);
  assert.deepEqual(times({}, true), [3600, 3600]);
  assert.deepEqual(times({ wall_time_secs: 5 }), [5, 5]);
  assert.deepEqual(times({ wall_time_secs: 5000 }, true), [3600, 3600]);
  assert.deepEqual(times({ cpu_time_secs: 300 }), [300, 300]);
  assert.deepEqual(times({ cpu_time_secs: 3, wall_time_secs: 90 }), [90, 3]);
  const { memoryBytes, processes } = limitsOf(limits, { memory_bytes: 2 ** 40, processes: 4 }, false);
  assert.deepEqual([memoryBytes, processes], [limits.memoryBytes, 4]);
});

test("what the request adds to the environment replaces what the sandbox adds, and both replace the base", () => {
  const request = shellRequest("x", { env: { A: "request", HOME: "/tmp" } });
  const { execute } = stepsOf(request, { limits, env: { A: "sandbox", B: "sandbox" }, hasNetwork: false }, null, 1);
  const { A, B, HOME, PATH, ONLINE_JUDGE } = execute.env;
  assert.deepEqual([A, B, HOME, ONLINE_JUDGE], ["request", "sandbox", "/tmp", undefined]);
  assert.match(PATH ?? "", /^\/home\/user\/\.local\/bin:/);
});

test("tools do not try again what the policy of the network refuses, unless the request says so", () => {
  const envOf = (hasNetwork: boolean, env: Record<string, string> = {}) =>
    stepsOf(shellRequest("x", { env }), { limits, env: {}, hasNetwork }, null, 1).execute.env;
  assert.deepEqual([envOf(true).PIP_RETRIES, envOf(true).npm_config_fetch_retries], ["0", "0"]);
  assert.equal(envOf(true, { PIP_RETRIES: "3" }).PIP_RETRIES, "3");
  assert.equal(envOf(false).PIP_RETRIES, undefined);
});

test("no execution has more variables than the launcher takes", () => {
  const variables = (name: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, "x"]));
  const { entries } = EXECUTION_BOUNDS.env;
  for (const language of languages.list()) {
    const request = shellRequest("", {
      kind: "code",
      code: Buffer.from(""),
      env: variables("R", entries),
      terminal: { rows: 1, cols: 1 },
    });
    const steps = stepsOf(request, { limits, env: variables("S", entries), hasNetwork: true }, language, 1);
    for (const step of [steps.prepare, steps.execute])
      assert.ok(Object.keys(step?.env ?? {}).length <= 64, language.name);
  }
});

test("code of every built-in language runs in the directory of the request, with its files in another one", () => {
  const moved = (name: string) => {
    const language = languages.resolve(name);
    assert.ok(language);
    return movedTo("/tmp/code-1", language);
  };
  assert.deepEqual(moved("c"), { command: ["/tmp/code-1/main"], isMoved: true });
  assert.deepEqual(moved("python").command.at(-1), "/tmp/code-1/main.py");
  assert.deepEqual(moved("typescript").command.at(-1), "/tmp/code-1/main.js");
  const java = moved("java").command;
  assert.deepEqual(java.slice(-3), ["-cp", "/tmp/code-1", "Main"]);
  for (const { name } of languages.list()) assert.equal(moved(name).isMoved, true, name);
});
