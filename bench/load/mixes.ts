/**
 * The requests for each submission, by the names in the rows. `wait`: one that waits for the record; `poll`: one to submit, and then one
 * after the other until the record is final; `submit`: only the one to submit.
 */
export const MIXES = ["wait", "poll", "submit"] as const;
export type LoadMix = (typeof MIXES)[number];
