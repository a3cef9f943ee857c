import type { Samples } from "../../../src/domain/samples.ts";

/** The three samples of a run. */
export const SAMPLES: Samples = {
  step: "execute",
  atMs: [10.1, 20, 30.4],
  cpuMs: [9.9, 9.9, 20],
  memoryBytes: [4_096, 1_048_576, 8_192],
  end: { atMs: 35, cpuMs: 20.1 },
  peakBytes: 1_052_672,
  limitBytes: 2_097_152,
  limitMs: 1_000,
};
