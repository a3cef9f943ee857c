/** What is asked for each submission, in the words of the rows. */
export const MIXES = ["wait", "poll", "submit"] as const;
export type Mix = (typeof MIXES)[number];
