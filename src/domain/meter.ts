import type { METRICS } from "./metrics.ts";

/**
 * What rooms say of their work, for whoever measures it; they know the names in metrics.ts and nothing else. Saying
 * something never fails, waits or throws.
 */
export interface Meter {
  count<Name extends NameOf<"counter">>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  time<Name extends NameOf<"histogram">>(name: Name, labels: LabelsOf<Name>, seconds: number): void;
}

export type MetricName = keyof typeof METRICS;

export type NameOf<Kind extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]["kind"] extends Kind ? Name : never;
}[MetricName];

/** Null in the table stands for values that are known only when the service starts. */
export type LabelsOf<Name extends MetricName> = {
  readonly [Label in keyof (typeof METRICS)[Name]["labels"]]: (typeof METRICS)[Name]["labels"][Label] extends readonly (infer Value)[]
    ? Value
    : string;
};

/** Where nobody measures: a command, a test. */
export const NO_METER: Meter = { count: () => {}, time: () => {} };

/** Seconds since a moment of `performance.now()`. */
export function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}
