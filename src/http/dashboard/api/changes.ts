/**
 * GET /changes → text/event-stream with the events `state` (Changes), the first one at the start with no topics, and `alive` every
 * 15 seconds. Data of other accounts changes no topic.
 */
export interface Changes {
  /** The data that may have changed since the event before. */
  readonly topics: readonly Topic[];
}

/** Kinds of data, each with the least seconds between two events. */
export const TOPICS = {
  /** Submissions and judgements. */
  runs: 1,
  /** Deliveries, and whether endpoints fail. */
  deliveries: 1,
  /** Projects, keys, endpoints, problems. */
  settings: 1,
  /** Use of keys in the last minute: also after the last run, until the minute has passed. */
  usage: 5,
  /** Charts and totals. */
  totals: 10,
  /** Workers and their proofs. */
  nodes: 1,
  /** Workers and their proofs, without the times of proofs. */
  health: 1,
} as const;
export type Topic = keyof typeof TOPICS;
