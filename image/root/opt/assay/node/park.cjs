// Loaded with --require before start.cjs, which then waits for a step.
globalThis[Symbol.for("assay.parked")] = true;
