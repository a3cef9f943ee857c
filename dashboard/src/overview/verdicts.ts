/** The verdicts in the order of the chart. */
export const VERDICTS = ["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"] as const;

/** Colours for chart areas only; some are too light for text. */
export function verdictColour(verdict: string): string {
  return `var(--verdict-${verdict.toLowerCase()})`;
}
