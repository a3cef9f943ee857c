/**
 * Factor for deadlines of tests. `assay test` sets it for slow kernels and multiplies the time limits of programs by
 * the same factor. Expectations of programs do not change.
 */
export const PATIENCE = Number(process.env.ASSAY_TEST_PATIENCE ?? 1);
if (!(PATIENCE >= 1)) throw new Error(`ASSAY_TEST_PATIENCE is ${process.env.ASSAY_TEST_PATIENCE}`);
