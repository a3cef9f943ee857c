import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "../../src/domain/language.ts";
import type { StepReport } from "../../src/domain/report.ts";
import { loadLanguages } from "../../src/languages/load.ts";
import { proveLanguage } from "../../src/worker/proof.ts";
import { LANGUAGES } from "../languages/directory.ts";
import { report, signalled, teardown } from "../verdict/reports.ts";

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

test("a hello that was accepted, said what it should and left nothing is a proof", async () => {
  assert.deepEqual(await prove(report({ stdout })), { name: "python", ok: true, detail: python.label });
});

test("a hello that time ended says so: it is no proof, and nothing against the language", async () => {
  const { ok, late } = await prove(signalled(9, { stdout, killReason: "wall" }));
  assert.deepEqual([ok, late], [false, true]);
});

for (const [name, answer, detail] of [
  ["says something else", report({ stdout: Buffer.from("hallo\n") }), /^its hello was AC, but not as expected$/],
  ["says nothing", report(), /^its hello was AC, but not as expected$/],
  ["exits 1", report({ stdout, exitCode: 1 }), /^its hello was RE: /],
  ["dies", signalled(11, { stdout }), /^its hello was SIG: /],
  ["runs without a control", report({ stdout, controlsMissing: ["seccomp: EINVAL"] }), /^its hello was IE/],
  ["leaves a process", report({ stdout, teardown: teardown({ pidsLeft: 1 }) }), /^its hello was /],
  ["leaves a mount", report({ stdout, teardown: teardown({ residualMounts: ["/box"] }) }), /^its hello was /],
  ["leaves a group", report({ stdout, teardown: teardown({ groupsLeft: ["s0"] }) }), /^its hello was /],
  ["is not seen to end", report({ stdout, teardown: teardown({ reaped: false }) }), /^its hello was /],
  ["loses its slot", new Error("the slot closed its connection"), /^the slot closed its connection$/],
] as const) {
  test(`a hello that ${name} is no proof`, async () => {
    const check = await prove(answer);
    assert.equal(check.ok, false);
    assert.match(check.fault ?? check.detail, detail);
  });
}
