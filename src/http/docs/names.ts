/** The documents of docs/ by kind, in the order of the menu. docs/README.md lists them as well, with a phrase for each. */
export const GUIDES_BY_KIND = {
  "Quick start": ["quick-start"],
  Tutorials: [
    "tutorials/grade-a-class",
    "tutorials/move-a-judge0-site",
    "tutorials/call-from-an-agent",
    "tutorials/three-machines",
  ],
  Reference: [
    "api",
    "judging",
    "webhooks",
    "mcp",
    "judge0",
    "piston",
    "languages",
    "limits",
    "dashboard",
    "cli",
    "configuration",
  ],
  Explanations: ["verdicts", "operations", "scaling", "security", "decisions"],
} as const;

/** The paths of all documents below docs/, without their suffix. */
export const GUIDES = Object.values(GUIDES_BY_KIND).flat();
