/** The documents of docs/ in the order of the menu. */
export const GUIDES = [
  "verdicts",
  "judging",
  "languages",
  "limits",
  "api",
  "mcp",
  "piston",
  "judge0",
  "webhooks",
  "dashboard",
  "cli",
  "configuration",
  "scaling",
  "operations",
  "security",
  "decisions",
] as const;
