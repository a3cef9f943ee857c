/**
 * GET /changes → text/event-stream with the events `state` (Changes), and `alive` after at most 15 seconds without another event. The
 * first `state` is sent at the start, and usually has no topics; no change after it is missed. Data of accounts that the person may
 * not see belongs to no topic.
 */
export interface Changes {
  /** The data that may have changed since the previous event. */
  readonly topics: readonly Topic[];
}

/** Kinds of data, each with the least number of seconds between two events that name it. */
export const TOPICS = {
  /** Submissions and judgements. */
  runs: 1,
  /** Deliveries, and since when endpoints fail. */
  deliveries: 1,
  /** Projects, keys, endpoints, problems. */
  settings: 1,
  /** Which sandboxes there are, and their states. */
  sandboxes: 1,
  /** Use of keys in the last minute. It changes until a minute after the last run. */
  usage: 5,
  /** Charts and totals. */
  totals: 10,
  /** Workers and their proofs. */
  nodes: 1,
  /** Workers and their proofs, but not the times of the proofs. */
  health: 1,
} as const;
export type Topic = keyof typeof TOPICS;
