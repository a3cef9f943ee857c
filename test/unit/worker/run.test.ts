import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step } from "../../../src/sandbox/step.ts";
import { run } from "../../../src/worker/run.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { report } from "../../support/verdict/reports.ts";

const PLAN = { compile: shell("compile", { more: true }), execute: shell("execute", { work: "keep" }) };

/** A slot whose compile steps end with these exit codes. */
function slotOf(...codes: readonly number[]) {
  const steps: string[] = [];
  const left = [...codes];
  return {
    steps,
    run: async ({ command: { command } }: Step) => {
      const step = command.at(-1) ?? "";
      steps.push(step);
      return report({ exitCode: step === "compile" ? (left.shift() ?? 0) : 0 });
    },
  };
}

test("a source that was compiled before for the judgement is compiled again if that fails", async () => {
  const slot = slotOf(1, 1, 0);
  const { compile, execute } = await run(slot, PLAN, { wasCompiled: true });
  assert.deepEqual(
    [compile?.exitCode, execute?.exitCode, slot.steps],
    [0, 0, ["compile", "compile", "compile", "execute"]],
  );
});

test("it is compiled three times at most", async () => {
  const slot = slotOf(1, 1, 1, 0);
  const { compile, execute } = await run(slot, PLAN, { wasCompiled: true });
  assert.deepEqual([compile?.exitCode, execute, slot.steps.length], [1, undefined, 3]);
});

test("the first failure of another source decides", async () => {
  const slot = slotOf(1, 0);
  const { compile, execute } = await run(slot, PLAN);
  assert.deepEqual([compile?.exitCode, execute, slot.steps], [1, undefined, ["compile"]]);
});
