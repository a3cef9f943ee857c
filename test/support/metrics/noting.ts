import type { Meter } from "../../../src/domain/meter.ts";

/** A meter that records its calls as text: the name, then the values of the labels. */
export interface Noting {
  readonly meter: Meter;
  readonly said: readonly string[];
  /** How often this text was recorded. */
  readonly times: (what: string) => number;
}

export function noting(): Noting {
  const said: string[] = [];
  const note = (name: string, labels: object, times: number) => {
    const words = [name, ...Object.values(labels)].join(" ");
    said.push(...Array.from({ length: times }, () => words));
  };
  return {
    said,
    times: (what) => said.filter((words) => words === what).length,
    meter: {
      count: (name, labels, by = 1) => note(name, labels, by),
      time: (name, labels) => note(name, labels, 1),
    },
  };
}
