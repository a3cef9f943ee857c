/** How clients of Piston name a language. */
export interface PistonName {
  /** The name; absent if it is the same as ours. */
  readonly language?: string;
  /** Aliases in addition to those that the language has here. */
  readonly aliases: readonly string[];
  /** The name of Piston's package with the language; absent if it is that of the language. */
  readonly runtime?: string;
}

/** Names and aliases in Piston's packages, by our name of the language. A language without a row has only its own name and aliases. */
export const PISTON_NAMES: Readonly<Record<string, PistonName>> = {
  c: { aliases: ["gcc"], runtime: "gcc" },
  cpp: { language: "c++", aliases: ["g++"], runtime: "gcc" },
  go: { aliases: ["golang"] },
  javascript: { aliases: ["node-javascript", "node-js"], runtime: "node" },
  python: { aliases: ["py3", "python3"] },
  typescript: { aliases: ["node-ts", "tsc"] },
};
