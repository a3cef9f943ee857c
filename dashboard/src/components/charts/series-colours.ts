/** The classes of ended runs in the order of the charts: verdicts, and CE for a compilation error, whose verdict is RE. */
export const CLASSES = ["AC", "RE", "CE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"] as const;

/** The colour of a class. It is only for areas of charts, because some of the colours are too light for text. */
export function verdictColour(verdict: string): string {
  return `var(--verdict-${verdict.toLowerCase()})`;
}

/**
 * The colour of the group with this rank in size, from 0, or of the rest of the runs. Light and dark colours alternate, as for
 * verdicts.
 */
export function groupColour(index: number | "rest"): string {
  return `var(--series-${index === "rest" ? "rest" : index + 1})`;
}
