/** Why a long trial is left out here; false where it is made. */
export const TOO_LONG =
  process.env.ASSAY_TEST_LONG === "yes" ? false : "long: with 'assay test full', or ASSAY_TEST_LONG=yes";
