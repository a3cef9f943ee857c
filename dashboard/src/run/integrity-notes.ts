/** Notes for values of `integrity` other than complete. */
export const INTEGRITY_NOTES: Readonly<Record<string, string>> = {
  truncated_by_judge_limit: "Cut off: output beyond the limit was discarded.",
  crash_mid_write: "Killed within 20 ms of its last output: the end may be missing.",
  write_error: "Some output could not be read.",
};
