/** The reason to skip a long test; false if long tests run. */
export const SKIPS_LONG =
  process.env.ASSAY_TEST_LONG === "yes" ? false : "long: with 'assay test full', or ASSAY_TEST_LONG=yes";
