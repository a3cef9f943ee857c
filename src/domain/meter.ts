import type { METRICS } from "./metrics.ts";

/** Receives measurements by the names in metrics.ts. Its methods do not block and do not throw. */
export interface Meter {
  count<Name extends NameOf<"counter">>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  time<Name extends NameOf<"histogram">>(name: Name, labels: LabelsOf<Name>, seconds: number): void;
}

export type MetricName = keyof typeof METRICS;

export type NameOf<Kind extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]["kind"] extends Kind ? Name : never;
}[MetricName];

/**
 * The labels of a metric. A label that is null in METRICS can be any string, because its values are known only when the service starts.
 */
export type LabelsOf<Name extends MetricName> = {
  readonly [Label in keyof (typeof METRICS)[Name]["labels"]]: (typeof METRICS)[Name]["labels"][Label] extends readonly (infer Value)[]
    ? Value
    : string;
};

/** A meter that counts nothing, for commands and tests without metrics. */
export const NO_METER: Meter = { count: () => {}, time: () => {} };

/** Seconds since a value of `performance.now()`. */
export function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}
