import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "../../../src/domain/language.ts";
import { decodeSamples, encodeSamples, type Samples } from "../../../src/domain/samples.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { samplesOf } from "../../../src/worker/convert-samples.ts";
import { plan } from "../../../src/worker/plan.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { report } from "../../support/verdict/reports.ts";

const languages = loadLanguages(LANGUAGES);
const c = languages.resolve("c") as Language;
const steps = plan(c, languages.limitsFor(c, "judge"), { code: Buffer.alloc(0), stdin: Buffer.alloc(0) });
const taken = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ atUsec: 10_040 * (i + 1), cpuUsec: 9_960 * i, memoryBytes: 4_096 * i }));

test("those of the program are kept, with its end and limits", () => {
  const execute = report({ samples: taken(3), elapsedNs: 35_000_000, wallNs: 35_000_000, cpuUsec: 31_260 });
  assert.deepEqual(samplesOf({ compile: report({ samples: taken(9) }), execute }, steps), {
    step: "execute",
    atMs: [10, 20.1, 30.1],
    cpuMs: [0, 10, 19.9],
    memoryBytes: [0, 4_096, 8_192],
    end: { atMs: 35, cpuMs: 31.3 },
    peakBytes: execute.memoryPeakBytes,
    limitBytes: execute.memoryLimitBytes,
    limitMs: steps.execute.limits.wallMs,
  });
});

test("the peak is the one of metrics and evidence, and no reading exceeds it", () => {
  const peaks = taken(3).map((one) => ({ ...one, memoryBytes: one.memoryBytes + 1_000_000 }));
  const measured = { samples: peaks, memoryPeakBytes: 1_008_192, keptBytes: 917_505 };
  for (const reports of [
    { execute: report(measured) },
    { compile: report(), execute: report(measured) },
    { compile: report({ ...measured, exitCode: 1 }) },
  ]) {
    const outcome = buildOutcome(reports);
    const samples = decodeSamples(encodeSamples(samplesOf(reports, steps) as Samples));
    assert.equal(samples.peakBytes, 1_925_697);
    assert.equal(samples.peakBytes, outcome.evidence?.limits.memoryPeakBytes);
    if (outcome.metrics) assert.equal(samples.peakBytes, outcome.metrics.memoryPeakBytes);
    const most = Math.max(...samples.memoryBytes);
    assert.ok(most <= samples.peakBytes && samples.peakBytes - most < 4_096, `${most} of ${samples.peakBytes}`);
  }
});

test("those of the compiler are kept if the program did not run", () => {
  const samples = samplesOf({ compile: report({ samples: taken(4) }) }, steps);
  assert.deepEqual(
    [samples?.step, samples?.atMs.length, samples?.limitMs],
    ["compile", 4, steps.compile?.limits.wallMs],
  );
});

test("a run of fewer than three samples, or without any, has none", () => {
  assert.equal(samplesOf({ execute: report({ samples: taken(2) }) }, steps), undefined);
  assert.equal(samplesOf({ execute: report() }, steps), undefined);
  assert.equal(samplesOf({ compile: report({ samples: taken(9) }), execute: report() }, steps), undefined);
});

test("in an interaction, the time limit has no place on the axis", () => {
  const execute = report({ samples: taken(3), elapsedNs: 35_000_000, wallNs: 20_000_000 });
  const samples = samplesOf({ execute }, steps);
  assert.deepEqual([samples?.end.atMs, samples?.limitMs], [35, null]);
});
