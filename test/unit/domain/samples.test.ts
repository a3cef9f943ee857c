import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeSamples, encodeSamples, MAX_SAMPLES, type Samples } from "../../../src/domain/samples.ts";

const tenths = (most: number) => fc.integer({ min: 0, max: most }).map((value) => value / 10);
const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b);

const of = (length: number): fc.Arbitrary<Samples> =>
  fc.record(
    {
      step: fc.constantFrom("compile", "execute"),
      atMs: fc.array(tenths(36_000_000), { minLength: length, maxLength: length }).map(ascending),
      cpuMs: fc.array(tenths(2_000_000_000), { minLength: length, maxLength: length }).map(ascending),
      memoryBytes: fc.array(
        fc.integer({ min: 0, max: 16_777_216 }).map((pages) => pages * 4_096),
        { minLength: length, maxLength: length },
      ),
      end: fc.record({ atMs: tenths(36_000_000), cpuMs: tenths(2_000_000_000) }, { noNullPrototype: true }),
      peakBytes: fc.maxSafeNat(),
      limitBytes: fc.maxSafeNat(),
      limitMs: fc.option(fc.nat()),
    },
    { noNullPrototype: true },
  );

test("samples are stored without loss at tenths of a millisecond and whole pages", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_SAMPLES }).chain(of), (samples) => {
      assert.deepEqual(decodeSamples(encodeSamples(samples)), samples);
    }),
  );
});

test("the most samples of a long run take 2.2 kB", () => {
  const at = Array.from({ length: MAX_SAMPLES }, (_, i) => 9_999.7 + i * 4_687.3);
  const samples: Samples = {
    step: "execute",
    atMs: at.map((ms) => Math.round(ms * 10) / 10),
    cpuMs: at.map((ms) => Math.round(ms * 9.97) / 10),
    memoryBytes: at.map((_, i) => 4_096 * (20_000 + ((i * 7_919) % 1_000))),
    end: { atMs: 600_000, cpuMs: 598_000 },
    peakBytes: 86_016_000,
    limitBytes: 268_435_456,
    limitMs: 600_000,
  };
  const bytes = encodeSamples(samples).length;
  assert.ok(bytes < 2_200, `${bytes} bytes`);
});
