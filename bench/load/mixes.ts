/** The requests for each submission, by the names in the rows. */
export const MIXES = ["wait", "poll", "submit"] as const;
export type Mix = (typeof MIXES)[number];
