/**
 * How many times longer everything may take here: `assay test` sets it for a slow kernel, where it has multiplied
 * the limits of time as well. Deadlines of tests follow it; what is asserted of a program does not change.
 */
export const PATIENCE = Number(process.env.ASSAY_TEST_PATIENCE ?? 1);
if (!(PATIENCE >= 1)) throw new Error(`ASSAY_TEST_PATIENCE is ${process.env.ASSAY_TEST_PATIENCE}`);
