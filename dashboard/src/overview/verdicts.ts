/** As they are stacked and listed; what each means is told at a submission. */
export const VERDICTS = ["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"] as const;

/** Of a figure's part; text never has it, because some are too light to be read. */
export function verdictColour(verdict: string): string {
  return `var(--verdict-${verdict.toLowerCase()})`;
}
