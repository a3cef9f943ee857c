/** A language as clients of Piston name it. Packs without a row have their own name and aliases. */
export interface PistonName {
  /** Absent if it is our name. */
  readonly language?: string;
  /** Aliases in addition to our own. */
  readonly aliases: readonly string[];
  /** The package that has the language, where it differs from the language. */
  readonly runtime?: string;
}

/** The names in Piston by our name of the language. A package of Piston has each of the aliases. */
export const PISTON_NAMES: Readonly<Record<string, PistonName>> = {
  c: { aliases: ["gcc"], runtime: "gcc" },
  cpp: { language: "c++", aliases: ["g++"], runtime: "gcc" },
  go: { aliases: ["golang"] },
  javascript: { aliases: ["node-javascript", "node-js"], runtime: "node" },
  python: { aliases: ["py3", "python3"] },
  typescript: { aliases: ["node-ts", "tsc"] },
};
