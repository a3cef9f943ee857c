/** The classes of ended runs in the order of the charts: verdicts, and CE for a compilation error, whose verdict is RE. */
export const CLASSES = ["AC", "RE", "CE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"] as const;

/** Colours for chart areas only; some are too light for text. */
export function verdictColour(verdict: string): string {
  return `var(--verdict-${verdict.toLowerCase()})`;
}

/** The colour of a group by its rank in size, or of the rest. Light and dark colours alternate, as for verdicts. */
export function groupColour(index: number | "rest"): string {
  return `var(--series-${index === "rest" ? "rest" : index + 1})`;
}
