import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "../../../src/domain/language.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { proveLanguage } from "../../../src/worker/proof.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { report, signalled, teardown } from "../../support/verdict/reports.ts";

const languages = loadLanguages(LANGUAGES);
const python = languages.resolve("python") as Language;
const stdout = Buffer.from("hello\n");

const prove = (answer: StepReport | Error) =>
  proveLanguage(
    {
      async run() {
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    languages,
    python,
  );

test("an accepted smoke test with the expected output and no leftovers is a proof", async () => {
  assert.deepEqual(await prove(report({ stdout })), { name: "python", ok: true, detail: python.label });
});

test("a smoke test that timed out is no proof, and is marked as late", async () => {
  const { ok, late } = await prove(signalled(9, { stdout, killReason: "wall" }));
  assert.deepEqual([ok, late], [false, true]);
});

test("a smoke test that the platform failed is no proof, and is marked as such", async () => {
  const { ok, isPlatformFailure } = await prove(report({ stdout, controlsMissing: ["seccomp: EINVAL"] }));
  assert.deepEqual([ok, isPlatformFailure], [false, true]);
});

for (const [name, answer, detail] of [
  [
    "prints something else",
    report({ stdout: Buffer.from("hallo\n") }),
    /^its smoke test ended as AC, but not as expected$/,
  ],
  ["prints nothing", report(), /^its smoke test ended as AC, but not as expected$/],
  ["exits 1", report({ stdout, exitCode: 1 }), /^its smoke test ended as RE: /],
  ["dies", signalled(11, { stdout }), /^its smoke test ended as SIG: /],
  ["runs without a control", report({ stdout, controlsMissing: ["seccomp: EINVAL"] }), /^its smoke test ended as IE/],
  ["leaves a process", report({ stdout, teardown: teardown({ pidsLeft: 1 }) }), /^its smoke test ended as /],
  ["leaves a mount", report({ stdout, teardown: teardown({ residualMounts: ["/box"] }) }), /^its smoke test ended as /],
  ["leaves a group", report({ stdout, teardown: teardown({ groupsLeft: ["s0"] }) }), /^its smoke test ended as /],
  ["is not reaped", report({ stdout, teardown: teardown({ reaped: false }) }), /^its smoke test ended as /],
  ["loses its slot", new Error("the slot closed its connection"), /^the slot closed its connection$/],
] as const) {
  test(`a smoke test that ${name} is no proof`, async () => {
    const check = await prove(answer);
    assert.equal(check.ok, false);
    assert.match(check.fault ?? check.detail, detail);
  });
}
