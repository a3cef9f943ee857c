/** Notes about an output, for the values of `integrity` other than `complete`. */
export const INTEGRITY_NOTES: Readonly<Record<string, string>> = {
  truncated_by_judge_limit: "Cut off: the rest of the output is not stored.",
  crash_mid_write:
    "The program was killed within 20 ms after its last output, so the end of its output may be missing.",
  write_error: "Some output could not be read.",
};
